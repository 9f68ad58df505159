/** A plain WebSocket client: sends frames unchanged, and returns the received frames and the close code. */
import { WebSocket } from 'ws'

export interface RawSocket {
  ws: WebSocket
  /** Sends a text unchanged and an object as JSON. */
  send(message: string | object): void
  /** The first frame for which `fits` is true, received before or later; each frame is returned once. */
  next(fits?: (message: any) => boolean): Promise<any>
  /** The code and reason with which the server closed the socket. */
  closed: Promise<{ code: number; reason: string }>
}

/** Resolves when the handshake is done. */
export async function openRaw(
  url: string,
  { protocol = 'graphql-transport-ws', headers = {} }: { protocol?: string | null; headers?: object } = {},
): Promise<RawSocket> {
  const ws = new WebSocket(`${url.replace('http', 'ws')}/graphql`, protocol === null ? [] : [protocol], {
    headers: headers as Record<string, string>,
  })
  const frames: any[] = []
  const waiting: { fits: (message: any) => boolean; take: (message: any) => void }[] = []
  ws.on('message', (data) => {
    const message = JSON.parse(String(data))
    const at = waiting.findIndex((one) => one.fits(message))
    if (at >= 0) waiting.splice(at, 1)[0]!.take(message)
    else frames.push(message)
  })
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    ws.on('close', (code, reason) => resolve({ code, reason: String(reason) })),
  )
  await new Promise((resolve, reject) => {
    ws.once('open', resolve)
    ws.once('error', reject)
  })
  ws.on('error', () => {})
  return {
    ws,
    closed,
    send: (message) => ws.send(typeof message === 'string' ? message : JSON.stringify(message)),
    next: (fits = () => true) =>
      new Promise((resolve) => {
        const at = frames.findIndex(fits)
        if (at >= 0) resolve(frames.splice(at, 1)[0])
        else waiting.push({ fits, take: resolve })
      }),
  }
}

/** A socket that was acknowledged with this key. */
export async function openAcknowledged(url: string, key: string): Promise<RawSocket> {
  const socket = await openRaw(url)
  socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } })
  await socket.next((message) => message.type === 'connection_ack')
  return socket
}

/** The status with which an upgrade was refused, or 101. */
export function upgradeStatus(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(`${url.replace('http', 'ws')}/graphql`, ['graphql-transport-ws'], { headers })
    ws.once('upgrade', (response) => resolve(response.statusCode!))
    ws.once('unexpected-response', (_request, response) => resolve(response.statusCode!))
    ws.once('open', () => ws.terminate())
    ws.once('error', (error) => reject(error))
  })
}
