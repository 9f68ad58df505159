/** Streams that end when the key of their reader is revoked or expires. */
import type { Ctx } from './context.ts'
import { unauthenticated } from './keys.ts'

/** The stream, until the caller's key is revoked or expires: then it throws UNAUTHENTICATED. */
export function untilRevoked<T>(
  ctx: Pick<Ctx, 'principal' | 'revocations'>,
  stream: AsyncIterableIterator<T>,
): AsyncIterableIterator<T> {
  let revoked = false
  const forget = ctx.revocations.onRevoked(ctx.principal, () => {
    revoked = true
    void stream.return?.()
  })
  return {
    async next() {
      try {
        const item = await stream.next()
        if (revoked) throw unauthenticated()
        if (item.done) forget()
        return item
      } catch (error) {
        // A consumer does not call return() after an error, and one that reads on would read behind a gap.
        forget()
        await stream.return?.()
        throw error
      }
    },
    async return() {
      forget()
      await stream.return?.()
      return { done: true, value: undefined }
    },
    async throw(error) {
      forget()
      await stream.return?.()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
