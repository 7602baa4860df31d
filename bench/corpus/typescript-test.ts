import React, { useCallback, useMemo, useState } from "react";

type SortKey = "name" | "price" | "updatedAt";

export interface Product {
  id: string;
  name: string;
  price: number;
  tags: readonly string[];
  updatedAt: Date;
}

const formatter = new Intl.NumberFormat("en-GB", { style: "currency", currency: "EUR" });

function compare(key: SortKey, ascending: boolean) {
  return (left: Product, right: Product): number => {
    const sign = ascending ? 1 : -1;
    if (left[key] === right[key]) return left.id.localeCompare(right.id);
    return left[key] < right[key] ? -sign : sign;
  };
}

export function ProductTable({ products, onSelect }: { products: Product[]; onSelect(id: string): void }) {
  const [sortKey, setSortKey] = useState<SortKey>("name");
  const [ascending, setAscending] = useState(true);
  const [filter, setFilter] = useState("");

  const visible = useMemo(() => {
    const needle = filter.trim().toLowerCase();
    return products
      .filter((product) => !needle || product.name.toLowerCase().includes(needle) || product.tags.some((tag) => tag.includes(needle)))
      .sort(compare(sortKey, ascending));
  }, [products, filter, sortKey, ascending]);

  const toggle = useCallback(
    (key: SortKey) => {
      if (key === sortKey) {
        setAscending((value) => !value);
      } else {
        setSortKey(key);
        setAscending(true);
      }
    },
    [sortKey],
  );

  return (
    <section className="product-table">
      <input value={filter} onChange={(event) => setFilter(event.target.value)} placeholder="Filter by name or tag" />
      <table>
        <thead>
          <tr>
            <th onClick={() => toggle("name")}>Name</th>
            <th onClick={() => toggle("price")}>Price</th>
            <th onClick={() => toggle("updatedAt")}>Last change</th>
          </tr>
        </thead>
        <tbody>
          {visible.map((product) => (
            <tr key={product.id} onClick={() => onSelect(product.id)}>
              <td>{product.name}</td>
              <td>{formatter.format(product.price)}</td>
              <td>{product.updatedAt.toISOString().slice(0, 10)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
