/**
 * CopilotKit's client without a framework speaks to an agent, and no runtime of CopilotKit is between: the refund stops at
 * the gate, the page is asked, and its answer runs it. Needs a running server (npm start) and GATEHOUSE_KEY as it was
 * printed. In a page, a server of yours adds the key, and runtimeUrl is its address.
 */
import { CopilotKitCore } from '@copilotkit/core'

// The client asks for the agents only in a page.
globalThis.window ??= globalThis

const core = new CopilotKitCore({
  runtimeUrl: `${process.env.GATEHOUSE_URL ?? 'http://127.0.0.1:4000'}/copilotkit`,
  headers: { authorization: `Bearer ${process.env.GATEHOUSE_KEY}` },
})
const agent = await new Promise((resolve, reject) => {
  core.subscribe({
    onAgentsChanged: ({ agents }) => agents.demo && resolve(agents.demo),
    onError: ({ error }) => reject(error),
  })
})

const content = `call send_refund {"order_id":"A-17","amount":250}
then
say The money is on its way.`
agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
await core.runAgent({ agent })

// In a real application a person decides: here the program that asked does, so that the example comes to an end.
const resume = agent.pendingInterrupts.map(({ id, metadata }) => {
  console.log(`${metadata.toolName} ${JSON.stringify(metadata.arguments)} waits for a person: approving`)
  const payload = { approved: true, reason: 'checked with the customer' }
  return { interruptId: id, status: 'resolved', payload }
})
await core.runAgent({ agent, resume })
for (const { role, content: text } of agent.messages) if (text) console.log(`${role}: ${text}`)
