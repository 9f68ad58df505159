/** What a generation was started with, in GraphQL: its messages, and the settings of the agent at that time. */
import { messageRole } from '../../../domain/threads/index.ts'
import type { StoredFile } from '../../../domain/files/index.ts'
import { inputOf, settingsOfRun, type Generation } from '../../../domain/generations/index.ts'
import type { InputMessage } from '../../../domain/threads/index.ts'
import type { AgentSettings, RunTool } from '../../../domain/agents/index.ts'
import type { Refs } from '../builder/refs.ts'

function clientToolType({ builder }: Refs) {
  return builder.objectRef<RunTool>('RunTool').implement({
    description: 'A client tool that a generation was started with.',
    fields: (t) => ({
      name: t.exposeString('name', { description: 'The name that the model sees.' }),
      description: t.exposeString('description', {
        nullable: true,
        description: 'What the tool does, for the model; null when it was not given.',
      }),
      inputSchema: t.expose('inputSchema', {
        type: 'JSONSchema',
        description: 'The schema of the arguments.',
      }),
    }),
  })
}

/** Adds what a generation was started with; returns the type of a file of a message. */
export function addGenerationInput(refs: Refs) {
  const { builder } = refs
  const Attachment = builder.objectRef<InputMessage['attachments'][number]>('InputAttachment').implement({
    description: 'A file of an input message.',
    fields: (t) => ({
      filename: t.exposeString('filename', {
        nullable: true,
        description: 'The name of the file; null when it had none.',
      }),
      mediaType: t.exposeString('mediaType', { description: 'The media type of the file.' }),
      file: t.field({
        type: refs.File,
        nullable: true,
        description:
          'The uploaded file; null when it was deleted or is hidden from this API key, or for bytes that were sent with the message.',
        resolve: ({ fileId }, _args, { loaders }): Promise<StoredFile | null> | null =>
          fileId ? loaders.files.load(fileId) : null,
      }),
    }),
  })
  const InputMessageType = builder.objectRef<InputMessage>('InputMessage').implement({
    description: 'A message that a generation was started with.',
    fields: (t) => ({
      role: t.field({
        type: refs.shapes.choice(messageRole),
        description: 'The author of the message.',
        resolve: ({ role }) => role,
      }),
      content: t.exposeString('content', { description: 'The text of the message.' }),
      attachments: t.expose('attachments', {
        type: [Attachment],
        description: 'The files of the message; a list without entries is empty.',
      }),
    }),
  })
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
        type: [InputMessageType],
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
        type: [clientToolType(refs)],
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
  return { Attachment }
}
