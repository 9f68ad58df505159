/** A page of CopilotKit with a tool of each kind. Its address names the agent and the thread. */
import {
  CopilotChat,
  CopilotKit,
  useDefaultRenderTool,
  useFrontendTool,
  useHumanInTheLoop,
  useInterrupt,
} from '@copilotkit/react-core/v2'
import '@copilotkit/react-core/v2/styles.css'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import { z } from 'zod'

const address = new URLSearchParams(location.search)
const agentId = address.get('agent')
const parameters = z.object({ word: z.string() })
const executed = (globalThis.executed = [])

function Page() {
  const [errors, setErrors] = useState([])
  useFrontendTool({
    name: 'locate',
    description: 'Of the page.',
    parameters,
    handler: async ({ word }) => {
      executed.push(word)
      return { found: word }
    },
  })
  useHumanInTheLoop({
    name: 'choose',
    description: 'Asks the person.',
    parameters,
    render: ({ args, status, respond, result }) => (
      <p>
        choose {args.word} {status} {result}
        {respond && <button onClick={() => respond(`chose ${args.word}`)}>Choose</button>}
      </p>
    ),
  })
  useDefaultRenderTool({
    render: ({ name, status, result }) => (
      <p>
        tool {name} {status} {result}
      </p>
    ),
  })
  useInterrupt({ agentId, render: (asked) => <Questions {...asked} /> })
  return (
    <>
      <CopilotChat
        agentId={agentId}
        threadId={address.get('thread')}
        onError={({ code, error }) => setErrors((all) => [...all, `${code}: ${error.message}`])}
      />
      <ul id="errors">
        {errors.map((text, i) => (
          <li key={i}>{text}</li>
        ))}
      </ul>
    </>
  )
}

function Questions({ interrupts, resolve, cancel }) {
  return interrupts.map(({ id, metadata }) => {
    const { toolName, arguments: args } = metadata
    const edited = { word: `edited-${args.word}` }
    return (
      <p key={id}>
        {toolName} {args.word} waits
        <button onClick={() => resolve({ approved: true }, id)}>Approve</button>
        <button onClick={() => resolve({ approved: false, reason: 'no' }, id)}>Reject</button>
        <button onClick={() => resolve({ approved: true, editedArgs: edited }, id)}>Edit</button>
        <button onClick={() => cancel(id)}>Cancel</button>
      </p>
    )
  })
}

createRoot(document.querySelector('#root')).render(
  <CopilotKit runtimeUrl="/copilotkit" enableInspector={false}>
    <Page />
  </CopilotKit>,
)
