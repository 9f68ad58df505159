/**
 * The digest of what an approver agrees to. It is keyed, so that masked arguments cannot be guessed by hashing
 * candidates.
 */
import { canonicalJson, hashJson, type JsonObject } from '../../core/json.ts'
import { purposeKey, sameText, sign } from '../../core/signing.ts'
import { jsonb, query, type Database } from '../../store/db/database.ts'
import { selectRows, rowsOf } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { approvals } from '../../store/db/tables/approvals.ts'
import type { Requirement } from '../gates/index.ts'
import type { Callable } from '../tools/index.ts'
import { approvalOf, currentArguments } from './approval.ts'

/** The parts of a tool that an approval names. */
export type CoveredTool = Pick<Callable, 'id' | 'version' | 'action' | 'definitionHash'>

/** How an approval or a grant names the tool that it covers. */
interface ToolName {
  toolId: string
  toolVersion: number
  action: string | null
  definitionHash: string | null
}

/** The tool as the approval or grant names it. */
export function coveredToolOf({ toolId, toolVersion, action, definitionHash }: ToolName): CoveredTool {
  return { id: toolId, version: toolVersion, action, definitionHash }
}

/** Whether an approval or a grant still covers the tool: nothing that is judged has changed in it since. */
export function isCovered(
  name: ToolName,
  { id, judgedVersion, action, definitionHash, wholeHash }: CallableTool,
): boolean {
  if (name.toolId !== id || name.toolVersion < judgedVersion || name.action !== action) return false
  return [definitionHash, wholeHash].includes(name.definitionHash as string)
}

/** What of a tool tells whether it is the one that was agreed to. */
export type CallableTool = CoveredTool & Pick<Callable, 'judgedVersion' | 'wholeHash'>

interface Agreed {
  arguments: JsonObject
  requestedBy: string
  requirement: Requirement
}

/** Marks keyed digests. Those of earlier versions are plain SHA-256 and have no prefix. */
const prefix = 'h1.'

/**
 * HMAC-SHA256, under a key derived from the installation's master key, of everything that an approver agrees to: it
 * changes with the tool, its version, the arguments, the requester and the requirement.
 */
export function digestOf(masterKey: Buffer, tool: CoveredTool, agreed: Agreed): string {
  return prefix + sign(purposeKey(masterKey, 'approval digest'), [canonicalJson(factsOf(tool, agreed))])
}

/** Whether a stored digest, keyed or of an earlier version, is the digest of these values. */
export function isDigestOf(masterKey: Buffer, digest: string, tool: CoveredTool, agreed: Agreed): boolean {
  const wanted = digest.startsWith(prefix)
    ? digestOf(masterKey, tool, agreed)
    : hashJson(factsOf(tool, agreed))
  return sameText(digest, wanted)
}

function factsOf(
  { id: toolId, version: toolVersion, action, definitionHash }: CoveredTool,
  agreed: Agreed,
): object {
  const { arguments: args, requestedBy, requirement } = agreed
  const which = action === null ? {} : { action, definitionHash }
  return { toolId, toolVersion, ...which, arguments: args, requestedBy, requirement }
}

const batch = 500

/**
 * Recomputes the digests of pending and approved approvals under another master key, in the caller's transaction.
 * Returns how many it rewrote. A digest that does not match its question stays unchanged: its call is asked about
 * again in any case.
 */
export async function redoDigests(tx: Database, from: Buffer, to: Buffer): Promise<number> {
  let done = 0
  for (let after = ''; ;) {
    const rows = await selectRows(
      tx,
      approvals,
      sql`where status in ('PENDING', 'APPROVED') and id > ${after} order by id limit ${batch} for update`,
    )
    if (rows.length === 0) return done
    const redone = rows.map(approvalOf).flatMap((approval) => {
      const { requestedBy, requirement, digest } = approval
      const tool = coveredToolOf(approval)
      const agreed = { arguments: currentArguments(approval), requestedBy, requirement }
      return isDigestOf(from, digest, tool, agreed)
        ? [{ id: approval.id, digest: digestOf(to, tool, agreed) }]
        : []
    })
    await query(
      tx,
      sql`update approvals as a set digest = x.digest
        from ${rowsOf(jsonb(redone), redone.length, 'x(id text, digest text)')}
        where a.id = x.id`,
    )
    done += redone.length
    after = rows.at(-1)!.id
  }
}
