/** The effect of a gate in one sentence. Pure. */
interface Counts {
  replayed: number
  stopped: number
  newlyStopped: number
  newlyPassing: number
}

/** Stops 14 of 200 calls; 3 newly; 1 no longer. */
export function previewText({ replayed, stopped, newlyStopped, newlyPassing }: Counts): string {
  if (replayed === 0) return 'No calls are recorded yet, so there is nothing to compare with.'
  const calls = replayed === 1 ? 'call' : 'calls'
  const parts = [`Stops ${stopped} of ${replayed} ${calls}`]
  if (newlyStopped > 0) parts.push(`${newlyStopped} newly`)
  if (newlyPassing > 0) parts.push(`${newlyPassing} no longer`)
  if (newlyStopped + newlyPassing === 0) parts.push('the same as now')
  return `${parts.join('; ')}.`
}
