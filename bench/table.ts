/** Percentiles, a table and bounded parallel work for the measurements. */

export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Prints rows with the same columns as a table. */
export function show(title: string, rows: Record<string, string | number>[]): void {
  console.log(`\n${title}`)
  console.table(rows)
}

export const ms = (value: number) => Number(value.toFixed(1))

/** Runs `work` `total` times, `concurrency` of them at once. Returns the seconds. */
export async function inLanes(
  total: number,
  concurrency: number,
  work: () => Promise<unknown>,
): Promise<number> {
  const started = performance.now()
  let left = total
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) await work()
    }),
  )
  return (performance.now() - started) / 1000
}
