/**
 * An agent reads a file on this machine, then wants to send a refund that a person must approve. Needs a running server
 * (npm start) and GATEHOUSE_KEY as it was printed. Outside of this checkout: npm install <path of the checkout>.
 */
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { createClient } from 'gatehouse-server/client'

const client = createClient({
  url: process.env.GATEHOUSE_URL ?? 'http://127.0.0.1:4000',
  key: process.env.GATEHOUSE_KEY,
})

// What the agent may read. A model, and whoever writes to it, chooses the path: nothing else is open to it.
const folder = await realpath(await mkdtemp(join(tmpdir(), 'orders-')))
const file = join(folder, 'A-17.csv')
await writeFile(file, 'order_id,amount\nA-17,250\n')

const tools = {
  async read_local_file({ path }) {
    console.log(`read_local_file ${path}`)
    const real = await realpath(path)
    if (!real.startsWith(folder + sep)) throw new Error('Only the folder of orders may be read.')
    return readFile(real, 'utf8')
  },
}

/** In a real application a person decides elsewhere: in the dashboard, in Slack, or with `gatehouse approvals`. */
async function approve(approval) {
  console.log(`${approval.toolName} ${JSON.stringify(approval.arguments)} waits for a person: approving`)
  await client.approvals.decide(approval, { verdict: 'APPROVE', reason: 'checked with the customer' })
}

const { agents } = await client.query('{ agents(first: 1) { nodes { id } } }')
const { id } = await client.startGeneration({
  agentId: agents.nodes[0].id,
  prompt: `call read_local_file ${JSON.stringify({ path: file })}
then
call send_refund {"order_id":"A-17","amount":250}
then
say The money is on its way.`,
})
const generation = await client.runClientTools(id, tools, {
  onEvent(event) {
    if (event.type === 'TEXT_DELTA') process.stdout.write(event.text)
    if (event.type === 'APPROVAL_REQUESTED' && event.approval?.status === 'PENDING')
      void approve(event.approval)
  },
})
console.log(`\n${generation.status}: ${generation.output?.text}`)
client.close()
await rm(folder, { recursive: true })
