/** Measures a small query against plain Yoga with the same response in the same run: the cost of the limits. */
import http from 'node:http'
import { startPeer } from './peer.ts'
import { report } from './report.ts'
import { cpuDuring, key, openServer, type Usage } from './server.ts'
import { inLanes } from './statistics.ts'

const body = JSON.stringify({ query: '{ viewer { id name } }' })
const total = 3000
const rounds = 8

interface Cost {
  cpuUs: number[]
  perSecond: number[]
}

export async function measureQuery(): Promise<void> {
  const server = await openServer('postgres')
  const yoga = await startPeer('plain-yoga')
  const costs: Record<'ours' | 'plain', Cost> = {
    ours: { cpuUs: [], perSecond: [] },
    plain: { cpuUs: [], perSecond: [] },
  }
  // Alternates between both, so that other load on the machine affects both.
  for (let round = 0; round < rounds; round++)
    for (const [name, peer] of [
      ['ours', server],
      ['plain', yoga],
    ] as const) {
      const { cpuUs, perSecond } = await costOf(peer)
      // The first rounds compile.
      if (round < 2) continue
      costs[name].cpuUs.push(cpuUs)
      costs[name].perSecond.push(perSecond)
    }
  await yoga.close()
  await server.close()
  const [ours, plain] = [Math.min(...costs.ours.cpuUs), Math.min(...costs.plain.cpuUs)]
  const [rate, plainRate] = [Math.max(...costs.ours.perSecond), Math.max(...costs.plain.perSecond)]
  const figures = {
    'server CPU us': ours,
    'plain Yoga CPU us': plain,
    'ratio CPU': ours / plain,
    'requests/s': rate,
    'plain Yoga requests/s': plainRate,
    'ratio requests/s': rate / plainRate,
  }
  report('query', 'A small query with all limits against plain Yoga; client in another process', [
    { case: '16 at once', figures },
  ])
}

async function costOf(server: { url: string; usage(): Promise<Usage> }) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 })
  let seconds = 0
  const cpu = await cpuDuring(server, async () => {
    seconds = await inLanes(total, 16, () => ask(`${server.url}/graphql`, agent))
  })
  agent.destroy()
  return { cpuUs: (cpu * 1000) / total, perSecond: total / seconds }
}

function ask(url: string, agent: http.Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
      'content-length': body.length,
    }
    const request = http.request(url, { method: 'POST', agent, headers }, (response) => {
      response
        .resume()
        .on('end', () =>
          response.statusCode === 200 ? resolve() : reject(new Error(`status ${response.statusCode}`)),
        )
    })
    request.on('error', reject)
    request.end(body)
  })
}
