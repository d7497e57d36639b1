/** Lists that parts of the page add while they are shown, and take away when they go. The list itself is plain: a part
 * that goes would read what was there before its last change, not what others have added since. */
export class Layers<Item> {
  #lists: Item[][] = [];
  #changes = 0;
  #seen = $state(0);

  /** All items, those of the last list first. */
  get all(): Item[] {
    void this.#seen;
    return this.#lists.toReversed().flat();
  }

  /** Add a list until the returned function is called. */
  add(list: Item[]): () => void {
    this.#lists = [...this.#lists, list];
    this.#seen = ++this.#changes;
    return () => {
      this.#lists = this.#lists.filter((each) => each !== list);
      this.#seen = ++this.#changes;
    };
  }
}
