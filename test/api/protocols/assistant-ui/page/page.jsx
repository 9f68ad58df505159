/** A page of assistant-ui. Its address names the runtime, the agent and the thread. */
import { HttpAgent } from '@ag-ui/client'
import { useChat } from '@ai-sdk/react'
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  makeAssistantTool,
  MessagePrimitive,
  ThreadPrimitive,
  useAui,
} from '@assistant-ui/react'
import { useA2AArtifacts, useA2ARuntime, useA2ATask } from '@assistant-ui/react-a2a'
import { useAgUiInterrupts, useAgUiRuntime, useAgUiSubmitInterruptResponses } from '@assistant-ui/react-ag-ui'
import { AssistantChatTransport, useAISDKRuntime, useChatRuntime } from '@assistant-ui/react-ai-sdk'
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai'
import { useMemo, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { z } from 'zod'

const address = new URLSearchParams(location.search)
const [agent, thread] = [address.get('agent'), address.get('thread')]
const executed = (globalThis.executed = [])
/** The arguments that a person writes. */
const edited = { word: `edited-${thread}` }
const sendAutomaticallyWhen = (at) =>
  lastAssistantMessageIsCompleteWithToolCalls(at) || lastAssistantMessageIsCompleteWithApprovalResponses(at)

const Locate = makeAssistantTool({
  toolName: 'locate',
  description: 'Of the page.',
  parameters: z.object({ word: z.string() }),
  execute: async ({ word }) => {
    executed.push(word)
    return { found: word }
  },
})

const runtimes = {
  chat: (onError) =>
    useChatRuntime({
      transport: useMemo(() => new AssistantChatTransport({ api: `/api/chat/${agent}` }), []),
      sendAutomaticallyWhen,
      onError,
    }),
  'known-chat': (onError) => {
    // By itself it names every chat DEFAULT_THREAD_ID.
    const prepareSendMessagesRequest = ({ body, ...more }) => ({ body: { ...more, ...body, id: thread } })
    const transport = useMemo(
      () => new AssistantChatTransport({ api: `/api/chat/${agent}`, prepareSendMessagesRequest }),
      [],
    )
    const chat = useChat({ id: thread, resume: true, transport, sendAutomaticallyWhen, onError })
    const runtime = useAISDKRuntime(chat)
    transport.setRuntime(runtime)
    return runtime
  },
  'ag-ui': (onError) => {
    const at = useMemo(() => new HttpAgent({ url: `/ag-ui/${agent}`, threadId: thread }), [])
    return useAgUiRuntime({ agent: at, onError })
  },
  a2a: (onError) => useA2ARuntime({ baseUrl: `/a2a/${agent}`, onError }),
}
const useRuntime = runtimes[address.get('runtime')]

function Page() {
  const [errors, setErrors] = useState([])
  const runtime = useRuntime((error) => setErrors((all) => [...all, error.message]))
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <Locate />
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage }} />
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
      {address.get('runtime') === 'ag-ui' && <Interrupts />}
      {address.get('runtime') === 'a2a' && <Task />}
      <ul id="errors">
        {errors.map((text, i) => (
          <li key={i}>{text}</li>
        ))}
      </ul>
    </AssistantRuntimeProvider>
  )
}

const UserMessage = () => (
  <MessagePrimitive.Root data-testid="user">
    <MessagePrimitive.Content />
  </MessagePrimitive.Root>
)

const AssistantMessage = () => (
  <MessagePrimitive.Root data-testid="assistant">
    <MessagePrimitive.Content components={{ tools: { Fallback: Call } }} />
  </MessagePrimitive.Root>
)

function Call({ toolName, args, result, approval, respondToApproval }) {
  return (
    <p>
      {toolName} {args.word} {JSON.stringify(result)}
      {approval && approval.approved === undefined && (
        <>
          waits
          <button onClick={() => respondToApproval({ approved: true })}>Approve</button>
          <button onClick={() => respondToApproval({ approved: false, reason: 'no' })}>Reject</button>
        </>
      )}
    </p>
  )
}

/** Only this hook can send edited arguments; the rest is answered at the call. */
function Interrupts() {
  const answer = useAgUiSubmitInterruptResponses()
  return useAgUiInterrupts().map(({ id: interruptId, message }) => {
    const payload = { approved: true, editedArgs: edited }
    const edit = () => answer([{ interruptId, status: 'resolved', payload }])
    return (
      <p key={interruptId}>
        {message} <button onClick={edit}>Edit</button>
      </p>
    )
  })
}

/** The texts of a task are its artifacts, which the thread does not show. */
function Task() {
  const task = useA2ATask()
  const artifacts = useA2AArtifacts()
  const aui = useAui()
  const asked = (task?.status.message?.parts ?? []).flatMap(({ data }) =>
    data?.asks === 'VERDICT' ? [data] : [],
  )
  const respond = (approvalId, verdict, more) => {
    const data = { approvalId, verdict, ...more }
    aui.thread.append({ role: 'user', content: [{ type: 'data', name: 'verdict', data }] })
  }
  return (
    <div data-testid="assistant">
      {artifacts.map(({ artifactId, parts }) => (
        <p key={artifactId}>{parts.map(({ text }) => text).join('')}</p>
      ))}
      {asked.map(({ approvalId, name }) => (
        <p key={approvalId}>
          {name} waits
          <button onClick={() => respond(approvalId, 'APPROVE')}>Approve</button>
          <button onClick={() => respond(approvalId, 'REJECT')}>Reject</button>
          <button onClick={() => respond(approvalId, 'APPROVE', { arguments: edited })}>Edit</button>
        </p>
      ))}
    </div>
  )
}

createRoot(document.querySelector('#root')).render(<Page />)
