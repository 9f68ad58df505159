/** Messages of a conversation as its client sends them, and the hashes by which a place in it is recognised. Pure. */
import { invalidAt } from '../../../core/errors.ts'
import { hashJson, tryParseJson } from '../../../core/json.ts'
import type { Agent } from '../../../domain/agents/index.ts'
import { fileOfUrl, fingerprints, type GivenFile } from '../segments/given-files.ts'
import type { MessageShape, PartShape } from './request-shape.ts'

export interface MessageCall {
  id: string
  name: string
  arguments: string
}

export interface GivenMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  text: string
  files: GivenFile[]
  /** Of the assistant. */
  calls: MessageCall[]
  /** Of a tool: the call that it has the output of. */
  callId: string | null
  path: string[]
}

/** INVALID, at its path, for a file that is no data URL and no id of ours. */
export function readMessage(given: MessageShape, path: string[]): GivenMessage {
  const parts: PartShape[] = given.content ?? []
  const read: GivenMessage = {
    role: given.role === 'developer' ? 'system' : given.role,
    text: '',
    files: [],
    calls: [],
    callId: given.role === 'tool' ? given.tool_call_id : null,
    path,
  }
  const texts: string[] = []
  parts.forEach((part, i) => {
    const at = [...path, 'content', String(i)]
    if (part.type === 'text') texts.push(part.text)
    else if (part.type === 'refusal') texts.push(part.refusal)
    else read.files.push(fileOf(part, at))
  })
  read.text = texts.join('\n')
  if (given.role === 'user' && !read.text.trim() && read.files.length === 0)
    throw invalidAt([...path, 'content'], 'must have text or a file')
  if (given.role === 'assistant')
    read.calls = (given.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function }))
  return read
}

function fileOf(part: Extract<PartShape, { type: 'image_url' | 'file' }>, at: string[]): GivenFile {
  if (part.type === 'image_url') return fileOfUrl(part.image_url.url, null, [...at, 'image_url', 'url'])
  const { file_id: fileId, file_data: data, filename = null } = part.file
  if (fileId) return { fileId, path: [...at, 'file', 'file_id'] }
  return fileOfUrl(data, filename, [...at, 'file', 'file_data'])
}

/** The message of ours that a client has, as it will send it back. */
export function answerMessage(text: string, calls: MessageCall[]): GivenMessage {
  return { role: 'assistant', text, files: [], calls, callId: null, path: [] }
}

/**
 * The hash of each beginning of the conversation, from its first message to all of them. Clients send back what they got in
 * many forms: as parts, without empty fields, without space around it. All of them have the same hash.
 */
export function prefixHashes(agent: Agent, user: string | null, messages: readonly GivenMessage[]): string[] {
  let hash = hashJson([agent.id, user])
  return messages.map((message) => (hash = nextHash(hash, message)))
}

/** The hash of a beginning with one more message. */
export function nextHash(hash: string, { role, text, files, calls, callId }: GivenMessage): string {
  const said = text.replaceAll('\r\n', '\n').trim()
  const asked = calls.map(({ id, name, arguments: args }) => [id, name, tryParseJson(args) ?? args.trim()])
  return hashJson([hash, role, said, fingerprints(files), asked, callId])
}
