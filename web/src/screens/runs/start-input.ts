/** What a run was started with, as the input of another start. */
import { graphql, type ResultOf } from '../../api/document.ts'
import type { StartInput } from './use-start.ts'

export const againQuery = graphql(`
  query RunAgain($id: ID!) {
    generation(id: $id) {
      id
      agent {
        id
        name
        model
        temperature
        maxSteps
        instructions
      }
      input {
        agentVersion
        messages {
          role
          content
          attachments {
            file {
              id
            }
          }
        }
        clientTools {
          name
          description
          inputSchema
        }
        settings {
          model
          temperature
          maxSteps
          instructions
        }
      }
    }
  }
`)

export type Again = NonNullable<ResultOf<typeof againQuery>['generation']>
/** What a run was started with beside its messages, as texts of fields; empty: as the agent has it. */
export function changesOf({ agent, input: { settings } }: Again) {
  const text = (name: 'model' | 'temperature' | 'maxSteps') =>
    settings === null || settings[name] === null || settings[name] === agent?.[name]
      ? ''
      : String(settings[name])
  const [own, all] = [agent?.instructions ?? '', settings?.instructions ?? '']
  return {
    model: text('model'),
    temperature: text('temperature'),
    maxSteps: text('maxSteps'),
    instructions: all !== own && all.startsWith(own) ? all.slice(own.length).trim() : '',
  }
}

/** What a run was started with, for a comparison. */
export const startOf = ({ agent, input: { agentVersion, messages, clientTools, settings } }: Again) => ({
  agent: agent?.name ?? null,
  agentVersion,
  ...settings,
  messages,
  clientTools,
})

export type Changes = ReturnType<typeof changesOf>

/** The settings that are given. */
export const givenSettings = ({ model, temperature, maxSteps, instructions }: Changes) => ({
  ...(model.trim() === '' ? {} : { model: model.trim() }),
  ...(instructions.trim() === '' ? {} : { instructions }),
  ...(temperature === '' ? {} : { temperature: Number(temperature) }),
  ...(maxSteps === '' ? {} : { maxSteps: Number(maxSteps) }),
})

export const filesOf = ({ input }: Again) =>
  (input.messages.at(-1)?.attachments ?? []).flatMap(({ file }) => (file ? [{ fileId: file.id }] : []))

/** What was said and given, with the last message in these words. */
export function keepInput(again: Again, prompt: string): Omit<StartInput, 'agentId'> {
  const { messages, clientTools } = again.input
  const said = messages.slice(0, -1).map(({ role, content }) => ({ role, content }))
  const attachments = filesOf(again)
  return {
    ...(said.length > 0
      ? { messages: [...said, { role: 'USER', content: prompt }] }
      : prompt === ''
        ? {}
        : { prompt }),
    ...(attachments.length > 0 ? { attachments } : {}),
    ...(clientTools.length > 0 ? { clientTools } : {}),
  }
}
