/**
 * A framework of tools/bench-peers, as a process around it would serve it: POST /start answers with a run that waits, and
 * POST /resume with that answer ends it. A framework with a server of its own is served by that. Its argument is JSON.
 */
import { createServer } from 'node:http'
import { serveAsPeer } from '../peer.ts'

/** What a program of tools/bench-peers gives: the URL of its own server, or the two halves of a unit. */
type Opened = string | { start(): Promise<object>; resume(paused: object): Promise<unknown> }

// A person's own keys and settings are not for a measurement: it would report to their services.
for (const name of Object.keys(process.env))
  if (/^(?:LANGCHAIN|LANGGRAPH|LANGSMITH|MASTRA|OPENAI)_/.test(name)) delete process.env[name]

const { program, ...settings } = JSON.parse(process.argv[2]!) as { program: string }
const { open } = await import(new URL(`../../tools/bench-peers/${program}.js`, import.meta.url).href)
const opened = (await open(settings)) as Opened

const served =
  typeof opened === 'string'
    ? opened
    : createServer(async (request, response) => {
        let text = ''
        for await (const piece of request) text += String(piece)
        try {
          const result = request.url === '/start' ? opened.start() : opened.resume(JSON.parse(text) as object)
          response.end(JSON.stringify(await result))
        } catch (error) {
          response.writeHead(500).end(String(error))
        }
      })
serveAsPeer(served)
