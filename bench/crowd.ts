/** Many subscribers in a process of their own: the file limit of one process is too small for both ends of 10,000 sockets. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'

export interface Crowd {
  /** Resolves with the latencies when every subscriber has received the message that `send` causes. */
  round(send: () => Promise<void>): Promise<number[]>
  close(): Promise<unknown>
}

/** The messages that a subscriber sends first: it waits for a response to each, except to the last. */
export interface Gathering {
  url: string
  count: number
  greetings: string[]
}

/** The most sockets that are opened at the same time. */
const batch = 200
/** Milliseconds by a clock that both processes share. */
const now = () => performance.timeOrigin + performance.now()

/** Starts the process and waits until all its sockets are open and have sent their first messages. */
export async function gather(gathering: Gathering): Promise<Crowd> {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(gathering)])
  const [first] = (await once(child, 'message')) as [string]
  if (first !== 'ready') throw new Error(`The subscribers could not connect: ${first}`)
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

async function open({ url, greetings }: Gathering, onMessage: () => void): Promise<void> {
  const socket = new WebSocket(url, 'graphql-transport-ws')
  await once(socket, 'open')
  for (const [i, greeting] of greetings.entries()) {
    const answer = i < greetings.length - 1 ? once(socket, 'message') : null
    socket.send(greeting)
    await answer
  }
  socket.on('message', onMessage)
}

async function listen(gathering: Gathering): Promise<void> {
  let times: number[] = []
  const onMessage = () => {
    times.push(now())
    if (times.length < gathering.count) return
    process.send!(times)
    times = []
  }
  for (let i = 0; i < gathering.count; i += batch) {
    const size = Math.min(batch, gathering.count - i)
    await Promise.all(Array.from({ length: size }, () => open(gathering, onMessage)))
  }
  process.send!('ready')
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url))
  listen(JSON.parse(process.argv[2]!) as Gathering).catch((error: unknown) => process.send!(String(error)))
