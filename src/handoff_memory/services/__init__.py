"""Operations on the memory: load, decide, save, each whole inside one transaction."""
