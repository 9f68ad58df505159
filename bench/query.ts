/** Measures a small query against plain Yoga with the same response in the same run: the cost of the limits. */
import { createServer, type Server } from 'node:http'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSchema, createYoga } from 'graphql-yoga'
import { key, openServer } from './server.ts'
import { inLanes, ms, show } from './table.ts'

const body = JSON.stringify({ query: '{ viewer { id name } }' })

export async function measureQuery(): Promise<void> {
  const services = await openServer('postgres')
  const typeDefs = 'type Viewer { id: ID! name: String! } type Query { viewer: Viewer! }'
  const resolvers = { Query: { viewer: () => ({ id: 'key_0', name: 'operator' }) } }
  const plain: Server = createServer(
    createYoga({ schema: createSchema({ typeDefs, resolvers }), logging: false }),
  )
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
  const urls = {
    ours: `${services.app.url}/graphql`,
    plain: `http://127.0.0.1:${(plain.address() as AddressInfo).port}/graphql`,
  }
  const cost = { ours: [] as number[], plain: [] as number[] }
  // Alternates between both, so that other load on the machine affects both.
  for (let round = 0; round < 6; round++)
    for (const name of ['ours', 'plain'] as const) {
      const used = await cpuOf(urls[name], 3000)
      if (round > 0) cost[name].push(used)
    }
  plain.close()
  plain.closeAllConnections()
  await services.close()
  const [ours, yoga] = [Math.min(...cost.ours), Math.min(...cost.plain)]
  show('A small query, CPU of client and server together, microseconds each', [
    { ours: ms(ours), 'plain Yoga': ms(yoga), ratio: Number((ours / yoga).toFixed(2)) },
  ])
}

async function cpuOf(url: string, total: number): Promise<number> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 })
  const before = process.cpuUsage()
  await inLanes(total, 16, () => ask(url, agent))
  const { user, system } = process.cpuUsage(before)
  agent.destroy()
  return (user + system) / total
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
