/** Which projects may take how many slots of a worker, so that a busy one does not starve the others. Pure. */

/** What one claim may take. */
export interface Allowance {
  limit: number
  /** Projects that have their share, and take nothing this time. */
  crowded: string[]
}

/** For so many slots there is one more, for projects that have less than their share. */
const slotsPerSpare = 8

/**
 * Whoever has work takes any slot. When all are taken there is an eighth more (at least one), given one by one to projects
 * that hold less than an equal share: a project that holds no row never waits for the whole queue of another, and a project
 * that is alone loses no slot. `held`: the project of each row that is being worked on. Null when nothing may be taken.
 */
export function allowanceOf(slots: number, held: readonly string[]): Allowance | null {
  if (held.length < slots) return { limit: slots - held.length, crowded: [] }
  if (held.length >= slots + Math.max(1, Math.floor(slots / slotsPerSpare))) return null
  const counts = new Map<string, number>()
  for (const project of held) counts.set(project, (counts.get(project) ?? 0) + 1)
  const share = slots / (counts.size + 1)
  return { limit: 1, crowded: [...counts].filter(([, count]) => count >= share).map(([project]) => project) }
}
