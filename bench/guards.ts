/** Measures the limits on incoming operations for a small query, each by itself and all together. */
import { getOperationAST, parse } from 'graphql'
import { createApp } from '../src/app.ts'
import { introspectionOf } from '../src/api/graphql/transport/introspection.ts'
import { schemaOf } from '../src/api/graphql/types/schema.ts'
import { variableFaults } from '../src/api/graphql/transport/variables.ts'
import { loadConfig } from '../src/config.ts'
import { clientAddress, countedAddress, networksOf, hostFault } from '../src/core/addresses.ts'
import { hasManyValues } from '../src/core/json.ts'
import { rateHeaders } from '../src/core/buckets.ts'
import { report } from './report.ts'

const query = 'query($id: ID!) { viewer { id name } node(id: $id) { id } }'
const variables = { id: 'proj_x' }
const body = Buffer.from(JSON.stringify({ query, variables }))
const rounds = 20_000

/** Microseconds of one guard: the best of five rounds, so that other load on the machine does not count. */
async function cost(guard: () => unknown): Promise<number> {
  let best = Infinity
  for (let round = 0; round < 6; round++) {
    const start = process.cpuUsage()
    for (let i = 0; i < rounds; i++) {
      const made = guard()
      if (made instanceof Promise) await made
    }
    const { user, system } = process.cpuUsage(start)
    if (round > 0) best = Math.min(best, (user + system) / rounds)
  }
  return best
}

export async function measureGuards(): Promise<void> {
  const config = loadConfig({ GATEHOUSE_PORT: '0', GATEHOUSE_LOG_LEVEL: 'error', GATEHOUSE_DEMO: 'false' })
  const app = await createApp(
    { ...config, secretKey: Buffer.alloc(32), requestsPerMinute: 100_000_000, costPerMinute: 1_000_000_000 },
    { database: { kind: 'memory' } },
  )
  const schema = schemaOf()
  const document = parse(query)
  const operation = getOperationAST(document)!
  const trusted = networksOf(['10.0.0.0/8', 'fd00::/8'])!
  const { rates } = app.services
  const caller = { id: 'key_bench', projectId: 'proj_bench' }
  const guards: Record<string, () => unknown> = {
    'name in the Host header': () => hostFault('gate.example.com:4000', ['gate.example.com']),
    'address behind a proxy': () => countedAddress(clientAddress('10.0.0.1', '203.0.113.9', trusted)!),
    'values of the body': () => hasManyValues(body),
    variables: () => variableFaults(schema, operation, variables),
    introspection: () => introspectionOf(schema, document, operation),
    'requests of the key': () => rates.takeRequests(caller, 0.001),
    'cost of the operation': () => rates.takeCost(caller, 0.001),
    'headers of what is left': () => {
      const { name, rule, left } = rates.quotas(caller).requests
      return rateHeaders(name, rule, left)
    },
  }
  const figures: Record<string, number> = {}
  for (const [guard, run] of Object.entries(guards)) figures[guard] = await cost(run)
  await app.stop(500)
  const all = Object.values(figures).reduce((sum, value) => sum + value, 0)
  const rows = [...Object.entries(figures), ['all together (bound: 50)', all] as const].map(([name, us]) => ({
    case: name,
    figures: { 'CPU us': us },
  }))
  report('guards', 'The guards before a small query', rows)
}
