/** `npm run demo`: shows the main guarantees against a server of its own. Exits 0 only when all of them held. */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { ask, mutate } from '../test/support/ask.ts'
import { killedAfterTheVerdict, nobodyAnswers, twoReviewers } from './demo/gate.ts'
import { bold, chapter, dim, green, line, red, say, textOnItsWay, yellow } from './demo/screen.ts'
import { check, checkSequence, key, running, start, startGeneration, story, tell } from './demo/stage.ts'
import { watchGeneration } from './demo/watch.ts'

/** Whether each chapter waits for Enter, so that the dashboard can be looked at meanwhile. */
const isWatched = process.argv.includes('--watch')
/** The time limit in milliseconds. The demo usually takes half a minute; a watched one as long as its reader does. */
const limitMs = isWatched ? 2 ** 31 - 1 : 120_000
async function answerTheClientTool(url: string): Promise<void> {
  chapter('An agent calls an http tool, then waits for its client')
  const prompt = [
    'slow 40ms',
    'say First I look up the weather.',
    'call get_weather {"city":"São Paulo"}',
    'then',
    'say Now I need a file from your machine.',
    'call read_local_file {"path":"/tmp/cities.csv"}',
  ].join('\n')
  const id = await startGeneration(url, prompt)
  let answered = false
  const watch = watchGeneration(
    { url, key, generationId: id },
    (from) => {
      tell(from)
      if (from.type !== 'REQUIRES_ACTION') return
      const [call] = from['toolCalls'] as { id: string }[]
      say(
        yellow(
          'parked: the generation is a row in the database and no process holds it. The client answers.',
        ),
      )
      const outputs = [{ toolCallId: call!.id, output: 'Lisbon,Quito,Osaka' }]
      mutate(url, key, 'submitToolOutputs', { generationId: id, outputs }, 'outcomes { status }').then(
        ({ outcomes }) => (answered = outcomes[0].status === 'ACCEPTED'),
        (error: unknown) => say(red(String(error))),
      )
    },
    textOnItsWay,
  )
  await watch.ended
  const query = '{ generation(id: $id) { status output { text } model { name isAi } } }'
  const { data } = await ask(url, key, `query($id: ID!) ${query}`, { id })
  const { status, output, model } = data['generation']
  for (const row of output.text.split('\n')) say(`${dim('answer')}  ${row}`)
  say(
    dim(
      `answered by ${model.name}, which is ${model.isAi ? 'an AI' : 'not an AI: it follows the lines above'}`,
    ),
  )
  check(answered && status === 'COMPLETED', 'the client answered and the generation completed')
  check(output.text.includes('celsius') && output.text.includes('Osaka'), 'both results reached the model')
  await checkSequence(url, id, watch)
}

const longText =
  'Nobody planned for the power to fail in the middle of this sentence, yet here we are, word by word, ' +
  'and the reader gets every word of it, because the truth is in a table and not in a process.'

async function killTheServer(url: string, dataDir: string, port: number): Promise<void> {
  chapter('The server is killed in the middle of an answer')
  const id = await startGeneration(
    url,
    `slow 60ms\ncall get_weather {"city":"Lisbon"}\nthen\nsay ${longText}`,
  )
  let heard = 0
  let strike = () => {}
  const struck = new Promise<void>((resolve) => (strike = resolve))
  const watch = watchGeneration({ url, key, generationId: id }, tell, (text) => {
    textOnItsWay(text)
    heard += text.length
    if (heard > longText.length / 3) strike()
  })
  await struck
  await running.server!.kill()
  say(`${red('kill -9')} process ${running.server!.pid}. The client keeps its last cursor and tries again.`)
  await start(dataDir, port)
  await watch.ended
  const types = watch.events.map((one) => one.type)
  const { data } = await ask(url, key, 'query($id: ID!) { generation(id: $id) { status output { text } } }', {
    id,
  })
  say(`${dim('answer')}  ${data['generation'].output?.text}`)
  check(watch.connections === 2, 'one subscription lived through both processes')
  check(
    types.filter((type) => type === 'STEP_RESET').length === 1,
    'the lost attempt was announced: STEP_RESET',
  )
  const calls = types.filter((type) => type === 'TOOL_CALL_STARTED').length
  check(calls === 1, 'the http tool had been called before the crash and was not called again')
  const whole = data['generation'].status === 'COMPLETED' && data['generation'].output.text === longText
  check(whole, 'the generation completed with the whole text')
  await checkSequence(url, id, watch)
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((ready) => probe.listen(0, '127.0.0.1', ready))
  const { port } = probe.address() as AddressInfo
  await new Promise((closed) => probe.close(closed))
  return port
}

async function tellStory(dataDir: string): Promise<void> {
  const port = await freePort()
  line(
    `\n  ${bold('Gatehouse')}, live: an agent, its tools, a client, the people at the gate, and two crashes`,
  )
  chapter('A server of its own')
  say(`node dist/main.js with an embedded database in ${dataDir}; no model key, nothing else installed`)
  await start(dataDir, port)
  const url = running.server!.url
  if (isWatched) {
    say(`the dashboard is at ${url}; sign in with the key ${key}`)
    await enter('begin')
  }
  await answerTheClientTool(url)
  await enter('kill the server')
  await killTheServer(url, dataDir, port)
  await enter('let two reviewers decide at once')
  await twoReviewers(url)
  await enter('let a question expire')
  await nobodyAnswers(url)
  await enter('kill the server after a verdict')
  await killedAfterTheVerdict(url, dataDir, port)
  await enter('end')
  chapter('The server is asked to stop')
  const code = await running.server!.stop()
  check(code === 0, 'SIGTERM: it drained and ended with code 0')
}

/** In a watched demo, waits until Enter is pressed. */
async function enter(next: string): Promise<void> {
  if (!isWatched) return
  const input = createInterface({ input: process.stdin, output: process.stdout })
  await input.question(dim(`  Enter: ${next} `))
  input.close()
}

const folder = await mkdtemp(join(tmpdir(), 'gatehouse-demo-'))
const timer = new AbortController()
const late = new Promise<never>((_resolve, reject) => {
  const timeout = setTimeout(() => reject(new Error(`not done after ${limitMs / 1000} s`)), limitMs)
  timer.signal.addEventListener('abort', () => clearTimeout(timeout))
  process.once('SIGINT', () => reject(new Error('interrupted')))
})
try {
  await Promise.race([tellStory(join(folder, 'data')), late])
} catch (error) {
  check(false, error instanceof Error ? error.message : String(error))
  if (running.server) line(dim(running.server.output()))
} finally {
  timer.abort()
  await running.server?.kill()
  await rm(folder, { recursive: true, force: true })
}
line(`\n  ${story.allHeld ? green('Every promise held.') : red('A promise was broken.')}\n`)
process.exit(story.allHeld ? 0 : 1)
