/** Many subscribers in a process of their own: sockets have two ends, and one process may not hold both of 10,000. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'

export interface Crowd {
  /** Resolves with the latencies when everybody has heard the message that `send` causes. */
  round(send: () => Promise<void>): Promise<number[]>
  close(): Promise<unknown>
}

/** What a subscriber says before it listens: each text waits for an answer, except the last. */
export interface Gathering {
  url: string
  count: number
  greetings: string[]
}

/** Opened at once; the rest waits. */
const batch = 200
/** The same clock in both processes. */
const now = () => performance.timeOrigin + performance.now()

/** Starts the process and waits until all its sockets are open and have been greeted. */
export async function gather(gathering: Gathering): Promise<Crowd> {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(gathering)])
  const [first] = (await once(child, 'message')) as [string]
  if (first !== 'ready') throw new Error(`The subscribers could not gather: ${first}`)
  return {
    async round(send) {
      const heard = once(child, 'message') as Promise<[number[]]>
      const began = now()
      await send()
      return (await heard)[0].map((at) => at - began)
    },
    close: () => {
      child.kill()
      return once(child, 'exit')
    },
  }
}

async function open({ url, greetings }: Gathering, hear: () => void): Promise<void> {
  const socket = new WebSocket(url, 'graphql-transport-ws')
  await once(socket, 'open')
  for (const [i, greeting] of greetings.entries()) {
    const answer = i < greetings.length - 1 ? once(socket, 'message') : null
    socket.send(greeting)
    await answer
  }
  socket.on('message', hear)
}

async function listen(gathering: Gathering): Promise<void> {
  let times: number[] = []
  const hear = () => {
    times.push(now())
    if (times.length < gathering.count) return
    process.send!(times)
    times = []
  }
  for (let i = 0; i < gathering.count; i += batch) {
    const size = Math.min(batch, gathering.count - i)
    await Promise.all(Array.from({ length: size }, () => open(gathering, hear)))
  }
  process.send!('ready')
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url))
  listen(JSON.parse(process.argv[2]!) as Gathering).catch((error: unknown) => process.send!(String(error)))
