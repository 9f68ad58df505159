/** The mutations callTool and cancelToolCall: direct calls, outside a generation. */
import { callTool, cancelCall, type CallToolInput } from '../../../domain/calls/index.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import { shown } from '../builder/action-mark.ts'
import { callbackSecretText, secretOf, type CallbackTypes } from './callbacks.ts'
import type { FileTypes } from './files.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'

export function addCallTool(refs: Refs, files: FileTypes, callback: CallbackTypes): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'callTool',
    action: `{ toolCall ${shown.toolCall} }`,
    description:
      'Calls a tool outside a generation and waits for the result; a tool failure is a result with isError. ' +
      'A gated call returns as AWAITING_APPROVAL and runs once approved. Permission: tools:Call.',
    input: builder.inputType('CallToolInput', {
      description: 'The tool call to make.',
      fields: (t) => ({
        toolId: t.id({
          required: true,
          description: 'The id of the tool; it begins with tool_. Tools of kind client are refused.',
        }),
        action: t.string({
          description: 'The name of the action; required for mcp and platform tools, refused for others.',
        }),
        arguments: t.field({
          type: 'JSONObject',
          description: 'The arguments of the call; preset parameters in it have no effect. Default: {}.',
        }),
        attachments: t.field({
          type: [files.Attachment],
          description:
            'Files for the call, at most 20; an http tool receives links to them as the argument attachments.',
        }),
        callback: t.field({
          type: callback,
          description: 'Where the events of the call are sent. Permission: webhooks:Callback.',
        }),
        idempotencyKey: t.string({
          description:
            'A text that makes retries safe: a repeat with the same key returns the first call, until 24 ' +
            'hours after it was settled.',
        }),
      }),
    }),
    payload: builder
      .objectRef<{ toolCall: ToolCall; callbackSecret: string | null }>('CallToolPayload')
      .implement({
        description: 'The tool call after the mutation.',
        fields: (t) => ({
          toolCall: t.expose('toolCall', {
            type: refs.ToolCall,
            description: 'The tool call with its result.',
          }),
          callbackSecret: t.exposeString('callbackSecret', {
            nullable: true,
            description: callbackSecretText,
          }),
        }),
      }),
    errors: ['ValidationError', 'NotFoundError', 'IdempotencyConflictError', 'LimitReachedError'],
    run: async (ctx, input) => {
      const toolCall = await callTool(ctx, input as CallToolInput)
      return { toolCall, callbackSecret: secretOf(ctx, input.callback, toolCall.id) }
    },
  })
}

export function addCancelToolCall(refs: Refs): void {
  const { builder } = refs
  addMutation(refs, {
    name: 'cancelToolCall',
    action: `{ toolCall ${shown.toolCall} }`,
    description:
      'Withdraws a direct call that your key requested: one that waits for an approval is never run, one that runs is ' +
      'asked to stop. Idempotent; a settled call does not change. Permission: tools:Call.',
    input: builder.inputType('CancelToolCallInput', {
      description: 'The tool call to withdraw.',
      fields: (t) => ({
        toolCallId: t.id({ required: true, description: 'The id of the tool call; it begins with call_.' }),
      }),
    }),
    payload: builder.objectRef<{ toolCall: ToolCall }>('CancelToolCallPayload').implement({
      description: 'The tool call after the mutation.',
      fields: (t) => ({
        toolCall: t.expose('toolCall', { type: refs.ToolCall, description: 'The tool call as it is now.' }),
      }),
    }),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ toolCall: await cancelCall(ctx, input) }),
  })
}
