/** What a generation was started with, in GraphQL: its messages, and the settings of the agent at that time. */
import { inputMessage } from '../../../domain/threads/index.ts'
import { inputOf, settingsOfRun, type Generation } from '../../../domain/generations/index.ts'
import { type AgentSettings, runTool } from '../../../domain/agents/index.ts'
import type { Refs } from '../builder/refs.ts'

/** Adds what a generation was started with. */
export function addGenerationInput(refs: Refs): void {
  const { builder, shapes } = refs
  const Settings = builder.objectRef<AgentSettings>('GenerationSettings').implement({
    description:
      'The settings that a generation was started with: those of the agent at that time, with the overrides of the ' +
      'generation.',
    interfaces: [refs.AgentSettings],
  })
  const Input = builder.objectRef<Generation>('GenerationInput').implement({
    description: 'What a generation was started with.',
    fields: (t) => ({
      messages: t.field({
        type: [shapes.object(inputMessage)],
        description:
          'The messages of the input in order, without the history of the thread. Of a child run it is the message that ' +
          'the parent wrote.',
        resolve: inputOf,
      }),
      settings: t.field({
        type: Settings,
        nullable: true,
        description:
          'The settings of the generation, instructions included; null when the agent is hidden from this API key. ' +
          'Permission: agents:Get.',
        resolve: (generation, _args, { ctx }) => settingsOfRun(ctx, generation),
      }),
      clientTools: t.field({
        type: [shapes.object(runTool)],
        description:
          'The client tools that were given for this generation only; a list without entries is empty.',
        resolve: ({ settings }) => settings.clientTools ?? [],
      }),
      agentVersion: t.exposeInt('agentVersion', {
        description: 'The version of the agent with these settings.',
      }),
    }),
  })
  builder.objectField(refs.Generation, 'input', (t) =>
    t.field({
      type: Input,
      description: 'What the generation was started with: its messages and settings.',
      resolve: (generation) => generation,
    }),
  )
}
