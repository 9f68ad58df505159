/** Fields of the data of events: the ways to declare one with its example, and those that several kinds have. */
import { z } from 'zod'
import { idShape, scalar, withExample } from '../../core/shapes.ts'
import { withFieldName, withRelation, type Relation } from './define.ts'

/** An id. */
export const id = (about: string, example: string) => withExample(idShape(about), example)

/** A text, such as a name. */
export const word = (about: string, example: string) => withExample(z.string().describe(about), example)

/** A whole number. */
export const number = (about: string, example: number) => withExample(z.int().describe(about), example)

/** A list of texts. */
export const words = (about: string, example: string[]) =>
  withExample(z.array(z.string()).describe(about), example)

/** One of these names, which programs know. */
export const code = <const Names extends readonly [string, ...string[]]>(
  about: string,
  names: Names,
  example: Names[number],
) => withExample(scalar('String', z.enum(names)).describe(about), example as never)

/** The same as the reason of what has happened. */
export const reason = <const Names extends readonly [string, ...string[]]>(
  names: Names,
  example: Names[number],
) => code('The stable code of the reason, for programs.', names, example)

/** The id of an object that GraphQL shows instead. */
export const link = (example: string, relation: Relation) =>
  withRelation(withFieldName(withExample(z.string(), example), null), relation)

/** The call that it is about. */
export const toolCallId = link('call_1', {
  as: 'toolCall',
  entity: 'ToolCall',
  about: 'The tool call as it is now; null when it is hidden from this API key.',
})

/** The approval that it is about. */
export const approvalId = link('apr_1', {
  as: 'approval',
  entity: 'Approval',
  about: 'The approval as it is now; null when it is hidden from this API key.',
})

/** The name of what it is about, as it was. */
export const name = word('The name of the tool, agent or project at the time of the event.', 'pay')

/** An agent. */
export const agentId = id('The id of the agent.', 'agt_1')

/** What it is about, of whichever kind. */
export const target = id('The id of the object that it is about.', 'tool_1')

/** What an approver said. */
export const verdict = code('The verdict: APPROVE or REJECT.', ['APPROVE', 'REJECT'], 'APPROVE')

/** Who decided something. */
export const deciderId = id(
  'The id of the API key or person that decided, or `system` for a result that arrived late.',
  'key_1',
)

/** The same, and the principal. */
export const decidedBy = withRelation(deciderId.clone(), {
  as: 'decider',
  entity: 'Principal',
  about: 'The principal that decided.',
})

/** The number of a step in its generation. */
export const stepIndex = number('The number of the step in the generation, from 1.', 2)
