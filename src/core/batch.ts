/** Collects what is asked for in the same moment, so that it can be done together. */

export interface BatchLimits<Item> {
  /** The most items of a group, and their most bytes. One larger item is a group of its own. */
  maxItems: number
  maxBytes: number
  bytesOf(item: Item): number
  /** The longest time that an item waits for others while another group is under way, in milliseconds. */
  waitMs: number
  /** Whether an error may be the fault of one item: then a group of several is done again, each by itself. By default never. */
  splitsOn?(error: unknown): boolean
}

interface Waiting<Item, Result> {
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Returns a function that does `work` for one item, together with what others ask for in the same moment: in the same turn
 * of the event loop, or while another group is under way, for at most `waitMs`. An item that is alone waits for nothing.
 * `work` gets the items in the order in which they were asked for and gives a result for each of them; when it throws, each
 * of them rejects with its error, unless `splitsOn` it. Groups do not wait for each other.
 */
export function batch<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  { maxItems, maxBytes, bytesOf, waitMs, splitsOn = () => false }: BatchLimits<Item>,
): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = []
  let bytes = 0
  let underWay = 0
  let timer: NodeJS.Timeout | null = null
  let turn: NodeJS.Immediate | null = null

  const send = () => {
    if (timer) clearTimeout(timer)
    if (turn) clearImmediate(turn)
    timer = turn = null
    const group = waiting
    waiting = []
    bytes = 0
    void run(group)
  }
  const run = async (group: readonly Waiting<Item, Result>[]) => {
    underWay++
    try {
      const results = await work(group.map(({ item }) => item))
      for (const [i, { resolve }] of group.entries()) resolve(results[i]!)
    } catch (error) {
      if (group.length > 1 && splitsOn(error)) await Promise.all(group.map((one) => run([one])))
      else for (const { reject } of group) reject(error)
    }
    underWay--
    if (waiting.length > 0) turn ??= setImmediate(send)
  }
  return (item) =>
    new Promise((resolve, reject) => {
      const size = bytesOf(item)
      if (waiting.length > 0 && bytes + size > maxBytes) send()
      waiting.push({ item, resolve, reject })
      bytes += size
      if (waiting.length >= maxItems) send()
      else if (underWay === 0) turn ??= setImmediate(send)
      else timer ??= setTimeout(send, waitMs)
    })
}
