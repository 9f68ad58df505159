/** A service that responds to everything at once. */
import { createServer } from 'node:http'
import { serveAsPeer } from '../peer.ts'

serveAsPeer(createServer((request, response) => request.resume().on('end', () => response.end('done'))))
