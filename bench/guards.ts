/** Measures the limits on incoming operations for a small query, each by itself and all together. */
import { getOperationAST, parse } from 'graphql'
import { introspectionOf } from '../src/api/graphql/introspection.ts'
import { schemaOf } from '../src/api/graphql/schema.ts'
import { variableFaults } from '../src/api/graphql/variables.ts'
import { clientAddress, countedAddress, networksOf } from '../src/core/client-address.ts'
import { hostFault } from '../src/core/host-names.ts'
import { hasManyValues } from '../src/core/json.ts'
import { rateHeaders } from '../src/core/rate-headers.ts'
import { openServer } from './server.ts'
import { ms, show } from './table.ts'

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
  const services = await openServer('postgres')
  const schema = schemaOf()
  const document = parse(query)
  const operation = getOperationAST(document)!
  const trusted = networksOf(['10.0.0.0/8', 'fd00::/8'])!
  const { rates } = services.app.services
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
  const rows: { guard: string; microseconds: number }[] = []
  let total = 0
  for (const [guard, run] of Object.entries(guards)) {
    const used = await cost(run)
    total += used
    rows.push({ guard, microseconds: ms(used) })
  }
  await services.close()
  show('The guards before a small query, CPU in microseconds', [
    ...rows,
    { guard: 'all together (bound: 50)', microseconds: ms(total) },
  ])
}
