/** The thirteen tasks as they are done with a mouse and the keyboard, or with a finger. */
import { failingTool, sharedReason, upstreamName, type Ground } from './ground.ts'
import type { Hand } from './hand.ts'
import { dialog, list, nextRequest, runRows, said, select, type Task, type TaskName } from './task.ts'

const approve = (hand: Hand) => hand.button(/^Approve/)
const rows = (hand: Hand) => list(hand).getByRole('link')
const place = (hand: Hand, name: string) =>
  hand.page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: new RegExp(`^${name}`) })

/** Whether there is no room for a list and a request side by side. */
const isNarrow = (hand: Hand) => hand.page.viewportSize()!.width < 720

/** Opens a place of the frame; on a phone the last two are below More. */
async function open(hand: Hand, name: string): Promise<void> {
  const link = place(hand, name)
  if (!(await link.filter({ visible: true }).count()))
    await hand.click(hand.page.locator('.rail-more > summary'))
  await hand.click(link.filter({ visible: true }))
}

/** Opens the inbox and its first request: a wide one has opened it by itself. */
async function openFirst(hand: Hand): Promise<void> {
  await open(hand, 'Inbox')
  await hand.see(rows(hand))
  if (isNarrow(hand)) await hand.click(rows(hand))
}

/** Approves the open request, and resolves when another one or the list has taken its place. */
const approveOne = (hand: Hand) => nextRequest(hand, () => hand.click(approve(hand)))

async function decideTen(hand: Hand): Promise<void> {
  await open(hand, 'Inbox')
  for (let n = 0; n < 10; n++) {
    await hand.see(rows(hand))
    if (isNarrow(hand)) await hand.click(rows(hand))
    await approveOne(hand)
  }
  await said(hand, 'Approved: ')
}

async function decideGroup(hand: Hand): Promise<void> {
  await open(hand, 'Inbox')
  await hand.click(hand.page.getByText('Filter, sort and group'))
  await hand.choose(select(hand, 'Tool'), 'cancel_order')
  await hand.choose(select(hand, 'Groups'), 'Same reason')
  await hand.click(list(hand).getByRole('checkbox', { name: new RegExp(sharedReason) }))
  await hand.click(hand.button('Reject …'))
  await hand.click(dialog(hand).getByRole('button', { name: /^Reject/ }))
  await hand.see(dialog(hand).getByText(/^38 /))
}

async function findOrder(hand: Hand): Promise<void> {
  await open(hand, 'Inbox')
  await hand.write(hand.page.getByRole('searchbox', { name: 'Search or paste an id' }), 'M-200')
  await hand.click(rows(hand).filter({ hasText: 'M-200' }))
  await hand.see(hand.page.getByRole('heading', { level: 1, name: /M-200/ }))
  await hand.click(approve(hand))
  await said(hand, /M-200/)
}

async function editFirst(hand: Hand): Promise<void> {
  await openFirst(hand)
  await hand.click(hand.button(/^Edit the arguments/))
  const form = hand.page.getByLabel('Edit the arguments')
  await hand.write(form.getByRole('textbox', { name: 'amount' }), '90', true)
  await hand.click(hand.button(/^Approve with changes/))
  await said(hand, 'Approved: ')
}

async function findFault(hand: Hand): Promise<void> {
  await open(hand, 'Activity')
  const menu = hand.page.locator('.filter-menu > summary').first()
  await hand.click(menu)
  await hand.click(hand.page.getByRole('group', { name: 'Status' }).getByText('failed'))
  // On a phone it covers the rows.
  if (isNarrow(hand)) await hand.click(menu)
  const failed = runRows(hand).filter({ hasText: 'fail 400' })
  await hand.click(failed.getByRole('link'))
  await hand.see(hand.page.getByRole('region', { name: 'Why it failed' }))
}

async function findFailedCalls(hand: Hand, { failedYesterday }: Ground): Promise<void> {
  await open(hand, 'Activity')
  await hand.choose(select(hand, 'Failed tool'), failingTool)
  await hand.choose(select(hand, 'Time'), 'Yesterday')
  await hand.until('the runs of yesterday', async () => (await runRows(hand).count()) === failedYesterday)
}

async function runAgain(hand: Hand): Promise<void> {
  await open(hand, 'Activity')
  const first = runRows(hand).filter({ hasText: 'say hello' })
  await hand.click(first.getByRole('link'))
  await hand.click(hand.button('Run again …'))
  await hand.click(dialog(hand).getByText('Settings of this run'))
  await hand.write(dialog(hand).getByLabel('More instructions'), 'Be short.')
  await hand.click(dialog(hand).getByRole('button', { name: 'Start the new run' }))
  await hand.see(hand.page.locator('.compare-facts').getByText('completed').nth(1))
}

async function gateUpstream(hand: Hand): Promise<void> {
  await open(hand, 'Catalogue')
  await hand.click(hand.page.getByRole('row').filter({ hasText: upstreamName }).locator('a.cell-link'))
  const drop = hand.page.getByRole('listitem', { name: 'drop', exact: true })
  await hand.click(drop.getByRole('link', { name: 'lets calls pass' }))
  await hand.click(hand.page.getByRole('radio', { name: /^Always/ }))
  await hand.click(hand.button(/^Preview/))
  await hand.click(hand.button('Save the gate'))
  await said(hand, 'The gate is changed.')
}

async function moveThreshold(hand: Hand): Promise<void> {
  await open(hand, 'Catalogue')
  await hand.write(hand.page.getByRole('searchbox', { name: 'Filter by name' }), 'refund')
  await hand.click(hand.link('send_refund'))
  await hand.click(hand.link('Gate'))
  await hand.write(hand.page.getByRole('textbox', { name: 'Value of condition 1' }), '200', true)
  await hand.click(hand.button(/^Preview/))
  await hand.see(hand.page.getByText(/^Stops \d+ of/))
  await hand.click(hand.button('Save the gate'))
  await said(hand, 'The gate is changed.')
}

async function invite(hand: Hand): Promise<void> {
  await open(hand, 'People')
  await hand.click(hand.button('Invite a person'))
  await hand.write(dialog(hand).getByRole('textbox', { name: 'Name' }), 'Ada')
  await hand.click(dialog(hand).getByRole('button', { name: 'Create the invitation' }))
  await hand.see(hand.page.getByRole('dialog', { name: 'The invitation of Ada' }))
}

async function pauseAgent(hand: Hand): Promise<void> {
  await open(hand, 'Catalogue')
  await hand.click(hand.link('Agents'))
  await hand.click(hand.link('clerk_7'))
  await hand.click(hand.button('Pause this agent'))
  await hand.click(dialog(hand).getByRole('button', { name: 'Pause this agent' }))
  const bar = hand.page.getByRole('region', { name: 'What is paused' })
  await hand.click(bar.getByRole('button', { name: /^Resume/ }))
  await hand.gone(bar)
}

/** By their names, in the order in which they are done. */
export const pointerTasks: Record<TaskName, Task> = {
  'decide the oldest request': async (hand) => {
    await openFirst(hand)
    await approveOne(hand)
    await said(hand, 'Approved: ')
  },
  'decide ten in a row': decideTen,
  'reject one with a reason': async (hand) => {
    await openFirst(hand)
    await hand.write(hand.page.getByLabel('Reason (sent to the model)'), 'too late')
    await hand.click(hand.button(/^Reject/))
    await said(hand, 'Rejected: ')
  },
  'reject 38 for one reason': decideGroup,
  'find an order and approve it': findOrder,
  'edit an argument and approve': editFirst,
  'see why a run failed': findFault,
  'find runs whose tool failed yesterday': findFailedCalls,
  'run again and compare': runAgain,
  'put a gate on a tool of an upstream': gateUpstream,
  'move the threshold of a gate': moveThreshold,
  'invite an approver': invite,
  'pause an agent and resume it': pauseAgent,
}
