/** Slack's request signatures, version 0. Pure. */
import { createHmac } from 'node:crypto'
import { sameText } from '../../../core/signing.ts'

/** How far the time stamp of a request may be from the clock of this server, in seconds. */
export const toleranceSeconds = 300

/** Whether Slack has signed this raw body with the secret, at most five minutes ago. Constant time for the signature. */
export function isSigned(
  secret: string,
  { timestamp, signature, body }: { timestamp: string; signature: string; body: string },
  nowMs: number,
): boolean {
  if (!/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceSeconds) return false
  return sameText(signature, signatureOf(secret, timestamp, body))
}

/** The header X-Slack-Signature of a request. */
export function signatureOf(secret: string, timestamp: string, body: string): string {
  return `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`
}
