/** A page of CopilotKit, without a runtime of CopilotKit: a chat, a tool of the page, and buttons where a person is asked. */
import {
  CopilotChat,
  CopilotKit,
  useConfigureSuggestions,
  useDefaultRenderTool,
  useFrontendTool,
  useInterrupt,
} from '@copilotkit/react-core/v2'
import '@copilotkit/react-core/v2/styles.css'
import { createRoot } from 'react-dom/client'
import { z } from 'zod'

const agentId = 'demo'
// The model of the demo does what a message says, line by line.
const message = `call read_order {"order_id":"A-17"}
then
call send_refund {"order_id":"A-17","amount":250}
then
say The money is on its way.`

function Refunds() {
  useConfigureSuggestions({
    consumerAgentId: agentId,
    available: 'before-first-message',
    suggestions: [{ title: 'Refund order A-17', message }],
  })
  useFrontendTool({
    name: 'read_order',
    description: 'Reads an order that is open in this page.',
    parameters: z.object({ order_id: z.string() }),
    handler: async ({ order_id }) => ({ order_id, amount: 250, customer: 'Ada' }),
  })
  useDefaultRenderTool()
  useInterrupt({ agentId, render: (asked) => <Question {...asked} /> })
  return <CopilotChat agentId={agentId} />
}

function Question({ interrupt: { metadata }, resolve }) {
  return (
    <p>
      {metadata.toolName} {JSON.stringify(metadata.arguments)} waits for a person:{' '}
      <button onClick={() => resolve({ approved: true })}>Approve</button>{' '}
      <button onClick={() => resolve({ approved: false, reason: 'not this one' })}>Reject</button>
    </p>
  )
}

createRoot(document.querySelector('#root')).render(
  <CopilotKit runtimeUrl="/copilotkit" enableInspector={false}>
    <Refunds />
  </CopilotKit>,
)
