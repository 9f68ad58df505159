/** Which projects may take how many slots of a worker, so that a busy one does not starve the others. Pure. */

/** What one claim may take. */
export interface Allowance {
  limit: number
  /** Projects that have their share already: their rows are not claimed. */
  crowded: string[]
}

/** One spare slot for this many slots, for projects with less than their share. */
const slotsPerSpare = 8

/**
 * How many rows the next claim may take. A project may use any free slot. When all are used, there is an eighth more
 * (at least one), given one by one to projects with less than an equal share: a project without rows in work never
 * waits for the whole queue of another, and a single project can use every slot. `held` is the project of each row in
 * work. Null when nothing may be claimed.
 */
export function allowanceOf(slots: number, held: readonly string[]): Allowance | null {
  if (held.length < slots) return { limit: slots - held.length, crowded: [] }
  if (held.length >= slots + Math.max(1, Math.floor(slots / slotsPerSpare))) return null
  const counts = new Map<string, number>()
  for (const project of held) counts.set(project, (counts.get(project) ?? 0) + 1)
  const share = slots / (counts.size + 1)
  return { limit: 1, crowded: [...counts].filter(([, count]) => count >= share).map(([project]) => project) }
}
