/** A page of CopilotKit for its tests: agent, thread and runtime are in its address. */
import {
  CopilotChat,
  CopilotKit,
  useCopilotKit,
  useDefaultRenderTool,
  useFrontendTool,
  useInterrupt,
} from '@copilotkit/react-core/v2'
import '@copilotkit/react-core/v2/styles.css'
import { useEffect } from 'react'
import { createRoot } from 'react-dom/client'
import { z } from 'zod'

const at = new URLSearchParams(location.search)
const [agentId, threadId, runtimeUrl] = ['agent', 'thread', 'runtime'].map((name) => at.get(name))

/** What the test looks at: the arguments with which the page's tool was executed, and the errors that CopilotKit told of. */
window.executed = []
window.errors = []

function Judge() {
  const { copilotkit } = useCopilotKit()
  useEffect(() => {
    const told = copilotkit.subscribe({ onError: ({ code }) => void window.errors.push(code) })
    return () => told.unsubscribe()
  }, [copilotkit])
  useFrontendTool({
    name: 'locate',
    description: 'Finds the user.',
    parameters: z.object({ word: z.string() }),
    handler: async ({ word }) => {
      window.executed.push(word)
      return `in the ${word}`
    },
  })
  useDefaultRenderTool()
  useInterrupt({ agentId, render: (asked) => <Question {...asked} /> })
  return <CopilotChat agentId={agentId} threadId={threadId} />
}

function Question({ interrupt: { metadata }, resolve, cancel }) {
  const answers = {
    Approve: () => resolve({ approved: true }),
    Edit: () => resolve({ approved: true, editedArgs: { word: 'edited' } }),
    Reject: () => resolve({ approved: false, reason: 'no' }),
    Cancel: () => cancel(),
  }
  return (
    <p>
      {metadata.toolName} {JSON.stringify(metadata.arguments)} waits:{' '}
      {Object.entries(answers).map(([name, answer]) => (
        <button key={name} onClick={answer}>
          {name}
        </button>
      ))}
    </p>
  )
}

createRoot(document.querySelector('#root')).render(
  <CopilotKit runtimeUrl={runtimeUrl} enableInspector={false}>
    <Judge />
  </CopilotKit>,
)
