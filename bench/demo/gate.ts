/** The chapters of the gate: two decisions at once, no decision, and a crash between verdict and execution. */
import { ask, mutate } from '../../test/support/ask.ts'
import { chapter, dim, red, say, textOnItsWay, yellow } from './screen.ts'
import { check, checkSequence, key, running, start, startGeneration, tell } from './stage.ts'
import { watchGeneration, type Watch, type WatchedEvent } from './watch.ts'

interface Stopped {
  watch: Watch
  generationId: string
  approvalId: string
}

/** Starts a refund that the gate stops. */
async function refund(url: string, order: string, amount: number): Promise<Stopped> {
  const prompt = `call send_refund {"order_id":"${order}","amount":${amount}}\nthen\nsay I am done with ${order}.`
  const generationId = await startGeneration(url, prompt)
  let stopped = (_event: WatchedEvent) => {}
  const asked = new Promise<WatchedEvent>((resolve) => (stopped = resolve))
  const watch = watchGeneration(
    { url, key, generationId },
    (from) => {
      tell(from)
      if (from.type === 'APPROVAL_REQUESTED') stopped(from)
    },
    textOnItsWay,
  )
  const { approval } = (await asked) as unknown as { approval: { id: string } }
  return { watch, generationId, approvalId: approval.id }
}

async function outcomeOf(url: string, id: string) {
  const query = `query($id: ID!) { generation(id: $id) { status output { text }
    toolCalls { status errorCode attempts { outcome } } } }`
  return (await ask(url, key, query, { id })).data['generation']
}

/** The refunds of an order that the demo upstream has executed. It forgets them when its process ends. */
async function refundsMade(url: string, order: string): Promise<number> {
  const { data } = await ask(url, key, '{ tools(first: 100) { nodes { name ... on HttpTool { url } } } }')
  const tool = data['tools'].nodes.find((one: { name: string }) => one.name === 'send_refund')
  const journal = (await (await fetch(new URL('/journal', tool.url))).json()) as {
    entries: { url: string; replay: boolean; body: { order_id?: string } | null }[]
  }
  return journal.entries.filter((one) => !one.replay && one.body?.order_id === order).length
}

export async function twoReviewers(url: string): Promise<void> {
  chapter('A refund of 250 needs a person, and two of them click at once')
  const { watch, generationId, approvalId } = await refund(url, 'A-17', 250)
  say(yellow('stopped at the gate: nothing was sent. Two reviewers approve in the same instant.'))
  const click = (reason: string) =>
    mutate(
      url,
      key,
      'decideApproval',
      { approvalId, verdict: 'APPROVE', reason },
      'approval { status }',
    ).then(
      () => 'won',
      (error: Error) => error.message,
    )
  const told = await Promise.all([click('looks right'), click('fine with me')])
  for (const [i, words] of told.entries()) say(`${dim(`reviewer ${i + 1}`)}  ${words}`)
  await watch.ended
  const { status } = await outcomeOf(url, generationId)
  const lost = told.filter((words) => words.includes('APPROVAL_ALREADY_DECIDED'))
  check(
    told.filter((words) => words === 'won').length === 1 && lost.length === 1,
    'one verdict won, the other was told so',
  )
  check((await refundsMade(url, 'A-17')) === 1, 'the refund was made once')
  check(status === 'COMPLETED', 'the agent went on')
  await checkSequence(url, generationId, watch)
}

const shortSeconds = 5

export async function nobodyAnswers(url: string): Promise<void> {
  chapter(`Nobody answers: the gate's timeout is set to ${shortSeconds} seconds`)
  const { data } = await ask(url, key, '{ tools(first: 100) { nodes { id name gate { when } } } }')
  const { id, gate } = data['tools'].nodes.find((one: { name: string }) => one.name === 'send_refund')
  const change = { mode: 'WHEN', when: gate.when }
  await mutate(
    url,
    key,
    'updateTool',
    { id, gate: { ...change, timeoutSeconds: shortSeconds } },
    'tool { version }',
  )
  const { watch, generationId, approvalId } = await refund(url, 'B-42', 900)
  say(yellow('silence …'))
  await watch.ended
  const deadline = watch.events.find((one) => one.type === 'APPROVAL_REQUESTED')!['approval'] as {
    expiresAt: string
  }
  const expired = watch.events.find((one) => one.type === 'APPROVAL_EXPIRED')
  const lateMs = expired ? Date.parse(expired.at) - Date.parse(deadline.expiresAt) : Number.NaN
  check(lateMs >= 0 && lateMs <= 1000, `silence rejected it ${lateMs} ms after its deadline`)
  const late = await mutate(
    url,
    key,
    'decideApproval',
    { approvalId, verdict: 'APPROVE' },
    'approval { id }',
  ).catch((error: Error) => error.message)
  check(String(late).includes('APPROVAL_EXPIRED'), 'a verdict that comes later is refused')
  const outcome = await outcomeOf(url, generationId)
  check(
    outcome.toolCalls[0].errorCode === 'approval_expired' && outcome.status === 'COMPLETED',
    'the model was told, and went on',
  )
  check((await refundsMade(url, 'B-42')) === 0, 'no refund was made')
  await mutate(url, key, 'updateTool', { id, gate: change }, 'tool { version }')
}

async function untilRunning(url: string, id: string): Promise<void> {
  for (;;) {
    const { data } = await ask(url, key, 'query($id: ID!) { generation(id: $id) { status } }', { id })
    if (data['generation'].status === 'RUNNING') return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export async function killedAfterTheVerdict(url: string, dataDir: string, port: number): Promise<void> {
  chapter('Approved, and the server is killed before the tool runs')
  const { watch, generationId, approvalId } = await refund(url, 'C-99', 400)
  say(
    'the server is restarted while the approval waits, now with one worker slot, and another run takes that slot',
  )
  await running.server!.stop()
  await start(dataDir, port, { GATEHOUSE_WORKER_SLOTS: '1' })
  const other = await startGeneration(url, 'slow 60s before\nsay something else')
  await untilRunning(url, other)
  await mutate(url, key, 'decideApproval', { approvalId, verdict: 'APPROVE' }, 'approval { id }')
  const before = (await outcomeOf(url, generationId)).toolCalls[0]
  check(
    before.status === 'APPROVED' && before.attempts.length === 0,
    'the verdict is committed, nothing was sent',
  )
  await running.server!.kill()
  say(`${red('kill -9')} process ${running.server!.pid}`)
  await start(dataDir, port)
  await watch.ended
  const { status, toolCalls } = await outcomeOf(url, generationId)
  const [call] = toolCalls
  check(
    status === 'COMPLETED' && call.status === 'SUCCEEDED',
    'the call ran after the restart, and the agent went on',
  )
  check(
    call.attempts.length === 1 && (await refundsMade(url, 'C-99')) === 1,
    'it ran once: ledger and service agree',
  )
  await checkSequence(url, generationId, watch)
  await mutate(url, key, 'cancelGeneration', { generationId: other }, 'generation { status }')
}
