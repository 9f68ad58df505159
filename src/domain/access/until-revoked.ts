/** A stream that ends with the right to follow it. */
import type { Ctx } from './context.ts'
import { unauthenticated } from './keys.ts'

/** The stream until its end, or until the caller's key is revoked or expires: then it fails as any request would. */
export function untilRevoked<T>(ctx: Ctx, stream: AsyncIterableIterator<T>): AsyncIterableIterator<T> {
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
        // Nobody calls return() after a failure.
        forget()
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
