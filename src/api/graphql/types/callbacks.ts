/** The callback of a generation or a direct call in GraphQL: its input, and the secret that signs it. */
import type { Ctx } from '../../../domain/access/index.ts'
import { callbackSecret } from '../../../domain/followers/index.ts'
import type { Builder } from '../builder/builder.ts'

export type CallbackTypes = ReturnType<typeof addCallbacks>

export function addCallbacks(builder: Builder) {
  return builder.inputType('CallbackInput', {
    description:
      'An endpoint that is sent the events of one generation, or of one call outside generations, until the last one.',
    fields: (t) => ({
      url: t.string({
        required: true,
        description: 'The URL to which events are sent, http or https, at most 2,000 characters.',
      }),
      secret: t.string({
        description:
          'The signing secret: whsec_ and 24 to 64 bytes in padded base64. Default: the one that the payload returns.',
      }),
      full: t.boolean({
        description:
          'Whether payloads include the arguments of calls, writeOnly values masked. Default: false.',
      }),
    }),
  })
}

/** What the payload says about the secret. */
export const callbackSecretText =
  'The signing secret of the callback; null without a callback, and when the request gave a secret of its own.'

/** The secret of a callback for which the request gave none. */
export function secretOf(
  ctx: Ctx,
  callback: { secret?: string | null | undefined } | null | undefined,
  id: string,
): string | null {
  return callback && !callback.secret ? callbackSecret(ctx, id) : null
}
