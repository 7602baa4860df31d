"""Parts of `bench/store.py`: each module measures one promise of the store."""
