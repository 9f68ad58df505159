/** A task of a person, what doing it takes, and the parts of the page that tasks meet. */
import type { Ground } from './ground.ts'
import type { Counts, Hand } from './hand.ts'

export const taskNames = [
  'decide the oldest request',
  'decide ten in a row',
  'reject one with a reason',
  'reject 38 for one reason',
  'find an order and approve it',
  'edit an argument and approve',
  'see why a run failed',
  'find runs whose tool failed yesterday',
  'run again and compare',
  'put a gate on a tool of an upstream',
  'move the threshold of a gate',
  'invite an approver',
  'pause an agent and resume it',
] as const
export type TaskName = (typeof taskNames)[number]

/** Does it from the first page, and resolves when the page shows that it is done. */
export type Task = (hand: Hand, ground: Ground) => Promise<void>

export interface Cost extends Counts {
  /** From the first press until the result is painted. */
  seconds: number
}

export const list = (hand: Hand) => hand.page.getByRole('list', { name: 'Waiting requests' })
export const runRows = (hand: Hand) => hand.page.locator('table.runs tbody tr')
export const select = (hand: Hand, name: string | RegExp) => hand.page.getByRole('combobox', { name })
export const dialog = (hand: Hand) => hand.page.getByRole('dialog')

/** Resolves when the page has said so. */
export const said = (hand: Hand, text: string | RegExp) =>
  hand.see(hand.page.locator('.toast').getByText(text))

const openRequest = (hand: Hand) => /apr_\w+/.exec(hand.page.url())?.[0]

/** Decides the open request, and resolves when another one or the list has taken its place. */
export async function nextRequest(hand: Hand, decide: () => Promise<void>): Promise<void> {
  const before = openRequest(hand)
  await decide()
  await hand.until('another request', async () => openRequest(hand) !== before)
}
