/** Helpers for tests of grants: tools behind a gate, approvals that give a grant, and the grants of a tool. */
import { useGateFixtures, type GateFixtures } from './gate-fixtures.ts'
import type { Harness } from './harness.ts'

export type GatedTool = { id: string; name: string }

export interface GrantFixtures {
  /** A tool whose gate stops every call. */
  newTool(more?: object): Promise<GatedTool>
  /** Approves a direct call with this grant, by default one for all calls of the tool, and returns the grant. */
  granted(tool: GatedTool, grant: object, args?: object, key?: string): Promise<Record<string, any>>
  /** Grants of the tool, newest first; with `active` only those that are so, or are not. */
  of(tool: GatedTool, active?: boolean): Promise<Record<string, any>[]>
  /** Whether a direct call is let through by a grant. */
  passes(tool: GatedTool, args?: object, key?: string): Promise<boolean>
}

export const plainGrant = { scope: 'TOOL', holder: 'CALLER', expiresInSeconds: 3600, maxUses: 100 }
export const grantFields = `id toolName toolVersion scope schema agentId threadId requestedBy maxUses uses expiresAt
  approval { id } grantedBy revokedAt revokedBy createdAt`

const five = { amount: 5 }

/** A server with fixtures for gates and grants, for all tests of a file. */
export async function useGrantFixtures() {
  const all = await useGateFixtures()
  return { ...all, grants: grantFixtures(all.h, all.gate) }
}

function grantFixtures(h: Harness, gate: GateFixtures): GrantFixtures {
  const of: GrantFixtures['of'] = async ({ id }, active) => {
    const { data } = await h.gql(
      `query($id: ID, $active: Boolean) { grants(toolId: $id, active: $active) { nodes { ${grantFields} } } }`,
      { id, active },
    )
    return data['grants'].nodes
  }
  return {
    newTool: (more = {}) => gate.gated({ autoApprove: false }, more),
    of,
    async granted(tool, grant, args = five, key) {
      const call = await gate.call(tool.id, args, {}, key)
      const decided = await gate.decide(call['approval'].id, 'APPROVE', {
        grant: { ...plainGrant, ...grant },
      })
      if (!decided['approval']) return decided
      await gate.untilCall(call['id'], ['SUCCEEDED'])
      return (await of(tool))[0]!
    },
    passes: async (tool, args = five, key) =>
      (await gate.call(tool.id, args, {}, key))['status'] === 'SUCCEEDED',
  }
}
