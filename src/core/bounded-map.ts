/** A map that keeps at most `most` entries: setting a key puts it last, and beyond the limit the first one is dropped. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #most: number

  constructor(most: number) {
    super()
    this.#most = most
  }

  override set(key: Key, value: Value): this {
    this.delete(key)
    super.set(key, value)
    if (this.size > this.#most) this.delete(this.keys().next().value!)
    return this
  }
}
