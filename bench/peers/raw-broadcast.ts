/** A WebSocket server that sends one prepared message to every client: the least that a fan-out can cost. */
import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'
import { serveAsPeer } from '../peer.ts'

const server = createServer()
const wss = new WebSocketServer({ server, perMessageDeflate: false })
// The subscribers close their sockets without a closing handshake.
wss.on('connection', (socket) => socket.on('error', () => {}))
serveAsPeer(server, (message) => {
  for (const client of wss.clients) client.send(message)
})
