/** The sealed state that a client of the new era carries from one round of waiting to the next. */
import { createRequestStateCodec, type RequestStateCodec } from '@modelcontextprotocol/server'
import { purposeKey } from '../../core/signing.ts'
import type { Ctx } from '../../domain/access/index.ts'

/** Signed, not encrypted: it holds nothing that its carrier may not read. Another in every round. */
export interface RoundState {
  workId: string
  round: number
  requestHash: string
}

/** A round is good for so long, in seconds: many times what a client takes to come back. */
const ttlSeconds = 600

/** The codec of one caller at one agent: what was sealed for another one does not open. */
export function roundCodec(ctx: Ctx, agentId: string): RequestStateCodec<RoundState> {
  return createRequestStateCodec<RoundState>({
    key: purposeKey(ctx.masterKey, 'mcp request state'),
    ttlSeconds,
    bind: () => `${agentId}\0${ctx.principal.id}`,
  })
}
