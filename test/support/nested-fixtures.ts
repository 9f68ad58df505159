/** Chains of agents for tests: agents that may call each other, and prompts for the whole chain. */
import type { Harness } from './harness.ts'

export interface Chain {
  /** From parent to child. */
  agents: { id: string; name: string }[]
  /** A prompt that calls down the chain; the last agent gets `innermost`, each parent ends with `back at N`. */
  prompt(innermost: string): string
}

/** A message that makes an agent call another one with a message, and then write something. */
export const asking = (name: string, message: string, last = 'done') =>
  `call ${name} ${JSON.stringify({ message })}\nthen\nsay ${last}`

let made = 0

/** Agents with these `names`, each calling the next; `settings` by name. */
export async function makeChain(
  h: Harness,
  length: number,
  settings: (level: number) => object = () => ({}),
): Promise<Chain> {
  const mark = ++made
  const agents: Chain['agents'] = []
  for (let level = length; level >= 1; level--) {
    const name = `chain${mark}_${level}`
    const below = agents[0] ? [agents[0].id] : []
    agents.unshift({ id: await makeAgent(h, { name, agentIds: below, ...settings(level) }), name })
  }
  return {
    agents,
    prompt: (innermost) =>
      agents
        .slice(1)
        .reduceRight((message, agent, i) => asking(agent.name, message, `back at ${i + 1}`), innermost),
  }
}

export async function makeAgent(h: Harness, input: object): Promise<string> {
  const { agent, ...refused } = await h.mutate('createAgent', input, 'agent { id }')
  if (!agent) throw new Error(JSON.stringify(refused))
  return agent.id
}

export const chainFields = `depth parent { id } root { id } usage { totalTokens } totalUsage { totalTokens }
  toolCalls { id name status errorCode content child { id status } }`

/** The descendants of a generation, parents first, of a chain without branches. */
export async function chainUnder(h: Harness, id: string, fields = ''): Promise<Record<string, any>[]> {
  const found: Record<string, any>[] = []
  for (let next: string | undefined = id; next;) {
    const { data }: { data: Record<string, any> } = await h.gql(
      `query($id: ID!) { generation(id: $id) { id status stopReason output { text } error { code } ${chainFields} ${fields}
        children { nodes { id } } } }`,
      { id: next },
    )
    found.push(data['generation'])
    next = data['generation'].children.nodes[0]?.id
  }
  return found
}

/** Resolves once the generation and its descendants have had this many client calls in total. */
export async function untilAsked(h: Harness, id: string, n: number): Promise<Record<string, any>> {
  const heard = `subscription($id: ID!) { generationEvents(generationId: $id) {
    ... on RequiresActionEvent { toolCalls { id } } } }`
  const asked = (events: { toolCalls?: { id: string }[] }[]) =>
    new Set(events.flatMap((event) => event.toolCalls ?? []).map((call) => call.id))
  await h.collect(heard, { id }, (events) => asked(events).size >= n)
  const { data } = await h.gql(
    `query($id: ID!) { generation(id: $id) { status requiredAction { toolCalls { id name arguments } approvals { id } }
      usage { totalTokens } totalUsage { totalTokens } toolCalls { id status } } }`,
    { id },
  )
  return data['generation']
}
