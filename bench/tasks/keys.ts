/** The thirteen tasks as they are done with keys alone. */
import { failingTool, sharedReason, upstreamName, type Ground } from './ground.ts'
import type { Hand } from './hand.ts'
import { dialog, list, nextRequest, runRows, said, select, type Task, type TaskName } from './task.ts'

/** Opens the inbox, which opens its first request, and resolves once that can be decided. */
async function openFirst(hand: Hand): Promise<void> {
  await hand.press('g', 'i')
  await armed(hand)
}

const armed = (hand: Hand) =>
  hand.until('the request can be decided', () =>
    hand.page.evaluate(
      () => (globalThis as any).document.querySelector('button.approve')?.disabled === false,
    ),
  )

async function decideTen(hand: Hand): Promise<void> {
  await openFirst(hand)
  for (let n = 0; n < 10; n++) {
    await armed(hand)
    await nextRequest(hand, () => hand.press('Control+Enter'))
  }
  await said(hand, 'Approved: ')
}

async function decideGroup(hand: Hand): Promise<void> {
  await hand.press('g', 'i')
  await hand.see(list(hand))
  await hand.press('/')
  await hand.tabTo(hand.page.getByText('Filter, sort and group'))
  await hand.press('Enter')
  await hand.tabTo(select(hand, 'Tool'))
  await hand.type('cancel')
  await hand.tabTo(select(hand, 'Groups'))
  await hand.until('groups of the reason', async () =>
    (await select(hand, 'Groups').innerText()).includes('Same reason'),
  )
  await hand.type('same r')
  await hand.see(list(hand).getByRole('button', { name: sharedReason }))
  await hand.press('Escape', 'j', 'x')
  await hand.tabTo(hand.button('Reject …'), 'Shift+Tab')
  await hand.press('Enter')
  await hand.see(dialog(hand))
  await hand.press('Control+Enter')
  await hand.see(dialog(hand).getByText(/^38 /))
}

/** Opens the first run of the list. */
async function openRow(hand: Hand): Promise<void> {
  await hand.press('j')
  await hand.see(hand.page.locator('tr[data-chosen]'))
  await hand.press('Enter')
}

async function findFault(hand: Hand): Promise<void> {
  await hand.press('g', 'r')
  await hand.see(runRows(hand))
  await hand.press('/')
  await hand.tabTo(hand.page.locator('.filter-menu > summary'))
  await hand.press('Enter')
  await hand.tabTo(hand.page.getByRole('checkbox', { name: 'failed' }))
  await hand.press('Space', 'Escape')
  await hand.until('the newest failed run', async () =>
    (await runRows(hand).first().innerText()).includes('fail 400'),
  )
  await openRow(hand)
  await hand.see(hand.page.getByRole('region', { name: 'Why it failed' }))
}

async function findFailedCalls(hand: Hand, { failedYesterday }: Ground): Promise<void> {
  await hand.press('g', 'r')
  await hand.see(runRows(hand))
  await hand.press('/')
  await hand.tabTo(select(hand, 'Failed tool'))
  await hand.type(failingTool)
  await hand.tabTo(select(hand, 'Time'))
  await hand.type('y')
  await hand.until('the runs of yesterday', async () => (await runRows(hand).count()) === failedYesterday)
}

async function runAgain(hand: Hand): Promise<void> {
  await hand.press('g', 'r')
  await hand.see(runRows(hand))
  await openRow(hand)
  await hand.see(hand.button('Run again …'))
  await hand.skipFrame()
  await hand.tabTo(hand.button('Run again …'))
  await hand.press('Enter')
  await hand.tabTo(dialog(hand).getByText('Settings of this run'))
  await hand.press('Enter')
  await hand.tabTo(dialog(hand).getByLabel('More instructions'))
  await hand.type('Be short.')
  await hand.press('Control+Enter')
  await hand.see(hand.page.locator('.compare-facts').getByText('completed').nth(1))
}

async function gateUpstream(hand: Hand): Promise<void> {
  await hand.goTo(upstreamName, new RegExp(`^${upstreamName}\\s*tool$`))
  await hand.see(hand.link('Gate'))
  await hand.skipFrame()
  await hand.tabTo(hand.link('Gate'))
  await hand.press('Enter')
  await hand.tabTo(select(hand, 'Gate of'))
  await hand.type('drop')
  const choice = hand.page.getByRole('radio')
  await hand.tabTo(choice.and(hand.page.locator(':checked')))
  for (const always = hand.page.getByRole('radio', { name: /^Always/ }); !(await always.isChecked());)
    await hand.press('ArrowDown')
  await lookAndSave(hand)
}

/** Previews the gate that is written and saves it. */
async function lookAndSave(hand: Hand): Promise<void> {
  await hand.tabTo(hand.button(/^Preview/))
  await hand.press('Enter')
  const save = hand.button('Save the gate')
  await hand.until('the gate can be saved', () => save.isEnabled())
  await hand.tabTo(save)
  await hand.press('Enter')
  await said(hand, 'The gate is changed.')
}

async function moveThreshold(hand: Hand): Promise<void> {
  await hand.goTo('send_r', /^send_refund\s*tool$/)
  await hand.see(hand.link('Gate'))
  await hand.skipFrame()
  await hand.tabTo(hand.link('Gate'))
  await hand.press('Enter')
  await hand.tabTo(hand.page.getByRole('textbox', { name: 'Value of condition 1' }))
  await hand.press('Control+a')
  await hand.type('200')
  await lookAndSave(hand)
}

async function pauseAgent(hand: Hand): Promise<void> {
  await hand.goTo('clerk_7', /^clerk_7\s*agent$/)
  await hand.see(hand.button('Pause this agent'))
  await hand.skipFrame()
  await hand.tabTo(hand.button('Pause this agent'))
  await hand.press('Enter')
  await hand.see(dialog(hand))
  await hand.press('Control+Enter')
  await hand.gone(dialog(hand))
  const bar = hand.page.getByRole('region', { name: 'What is paused' })
  await hand.tabTo(bar.getByRole('button', { name: /^Resume/ }), 'Shift+Tab')
  await hand.press('Enter')
  await hand.gone(bar)
}

/** By their names, in the order in which they are done. */
export const keyTasks: Record<TaskName, Task> = {
  'decide the oldest request': async (hand) => {
    await openFirst(hand)
    await nextRequest(hand, () => hand.press('Control+Enter'))
    await said(hand, 'Approved: ')
  },
  'decide ten in a row': decideTen,
  'reject one with a reason': async (hand) => {
    await openFirst(hand)
    await hand.press('r')
    await hand.type('too late')
    await hand.press('Escape', 'Control+Backspace')
    await said(hand, 'Rejected: ')
  },
  'reject 38 for one reason': decideGroup,
  'find an order and approve it': async (hand) => {
    await hand.goTo('M-200', /M-200.*waiting$/)
    await armed(hand)
    await hand.press('Control+Enter')
    await said(hand, /M-200/)
  },
  'edit an argument and approve': async (hand) => {
    await openFirst(hand)
    await hand.press('e')
    await hand.tabTo(hand.page.getByLabel('Edit the arguments').getByRole('textbox', { name: 'amount' }))
    await hand.press('Control+a')
    await hand.type('90')
    await hand.press('Control+Enter')
    await said(hand, 'Approved: ')
  },
  'see why a run failed': findFault,
  'find runs whose tool failed yesterday': findFailedCalls,
  'run again and compare': runAgain,
  'put a gate on a tool of an upstream': gateUpstream,
  'move the threshold of a gate': moveThreshold,
  'invite an approver': async (hand) => {
    await hand.goTo('invite', 'Invite a person')
    await hand.tabTo(dialog(hand).getByRole('textbox', { name: 'Name' }))
    await hand.type('Ada')
    await hand.press('Control+Enter')
    await hand.see(hand.page.getByRole('dialog', { name: 'The invitation of Ada' }))
  },
  'pause an agent and resume it': pauseAgent,
}
