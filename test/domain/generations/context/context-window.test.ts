import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import {
  viewOfHistory,
  type ContextRequest,
} from '../../../../src/domain/generations/context/context-window.ts'
import { charactersOf } from '../../../../src/domain/models/usage.ts'
import {
  callsOf,
  userMessage,
  type Message,
  type ToolResultPart,
} from '../../../../src/domain/models/message.ts'
import { weatherTool } from '../../../support/conversation.ts'

const plain = {
  instructions: null,
  tools: [],
  budgetTokens: null,
  maxContextMessages: null,
  charsPerToken: 1,
}

function view(messages: Message[], more: Partial<ContextRequest> = {}) {
  return viewOfHistory({ ...plain, messages, ...more })
}

function result(callId: string, size: number): ToolResultPart {
  const content = [{ type: 'text' as const, text: 'r'.repeat(size) }]
  return { type: 'tool-result', callId, providerCallId: callId, name: 'f', content, isError: false }
}

/** One step: thought, calls, and a result of each size. */
function step(id: string, sizes: number[]): Message[] {
  const ids = sizes.map((_, i) => `${id}.${i}`)
  return [
    {
      v: 1,
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 't'.repeat(50) },
        ...ids.map((callId) => ({
          type: 'tool-call' as const,
          callId,
          providerCallId: callId,
          name: 'f',
          input: '{}',
        })),
      ],
    },
    { v: 1, role: 'tool', parts: ids.map((callId, i) => result(callId, sizes[i]!)) },
  ]
}

function said(text: string): Message {
  return { v: 1, role: 'assistant', parts: [{ type: 'text', text }] }
}

const conversation = [
  userMessage('What is this about'),
  ...step('a', [1_000]),
  said('first'),
  userMessage('go on'),
  ...step('b', [1_000]),
  said('second'),
  userMessage('and now'),
  ...step('c', [1_000]),
  ...step('d', [1_000]),
]
const whole = conversation.reduce((sum, message) => sum + charactersOf(message), 0)

test('what fits is sent as it is', () => {
  expect(view(conversation, { budgetTokens: whole })).toEqual({
    messages: conversation,
    elided: { toolResults: 0, reasoningParts: 0, turns: 0, messages: 0 },
  })
  expect(view([]).messages).toEqual([])
})

describe('what goes first', () => {
  test('one old tool result, when that is enough', () => {
    const { messages, elided } = view(conversation, { budgetTokens: whole - 1 })
    expect(elided).toEqual({ toolResults: 1, reasoningParts: 0, turns: 0, messages: 0 })
    expect(JSON.stringify(messages[2])).toContain('left out: 1001 characters')
    expect(messages[2]).toMatchObject({ role: 'tool', parts: [{ callId: 'a.0', isError: false }] })
  })

  test('then results of the current turn too, but not of its last step', () => {
    const { messages, elided } = view(conversation, { budgetTokens: whole - 2_800 })
    expect(elided).toMatchObject({ toolResults: 3, reasoningParts: 0, turns: 0 })
    expect(messages.at(-1)).toEqual(conversation.at(-1))
  })

  test('then the reasoning of earlier turns, then whole turns', () => {
    const third = view(conversation, { budgetTokens: whole - 2_900 })
    expect(third.elided).toMatchObject({ toolResults: 3, reasoningParts: 1, turns: 0 })
    const last = view(conversation, { budgetTokens: 1 })
    expect(last.elided).toEqual({ toolResults: 3, reasoningParts: 2, turns: 2, messages: 7 })
    expect(last.messages.map((message) => message.role)).toEqual([
      'user',
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
    ])
    expect(last.messages[0]).toEqual(conversation[0])
  })
})

test('a number of messages is rounded down to whole turns, the first message included', () => {
  const kept = (maxContextMessages: number) => view(conversation, { maxContextMessages }).messages.length
  expect(kept(13)).toBe(13)
  expect(kept(12)).toBe(10)
  expect(kept(10)).toBe(10)
  expect(kept(9)).toBe(6)
  expect(kept(1)).toBe(6)
})

test('instructions and tools take their part of the budget', () => {
  const heavy = { instructions: 'i'.repeat(600), tools: [weatherTool], budgetTokens: whole + 100 }
  expect(view(conversation, heavy).elided.toolResults).toBeGreaterThan(0)
})

test('the stored history never changes', () => {
  const before = structuredClone(conversation)
  view(conversation, { budgetTokens: 1, maxContextMessages: 1 })
  expect(conversation).toEqual(before)
})

const sizes = fc.array(fc.integer({ min: 0, max: 2_000 }), { minLength: 1, maxLength: 3 })
const turn = fc.record({
  steps: fc.array(sizes, { maxLength: 4 }),
  ends: fc.boolean(),
  asks: fc.integer({ min: 1, max: 2 }),
})
const history = fc.array(turn, { minLength: 1, maxLength: 5 }).map((turns) =>
  turns.flatMap(({ steps, ends, asks }, t) => [
    ...Array.from({ length: asks }, (_, i) => userMessage(`question ${t}.${i}`)),
    ...steps.flatMap((one, s) => step(`${t}.${s}`, one)),
    // Only the current turn may lack its last message.
    ...(ends || t < turns.length - 1 ? [said(`answer ${t}`)] : []),
  ]),
)
const bounds = fc.record({
  budgetTokens: fc.option(fc.integer({ min: 0, max: 20_000 })),
  maxContextMessages: fc.option(fc.integer({ min: 0, max: 40 })),
})

function currentTurn(messages: Message[]): Message[] {
  return messages.slice(
    messages.findLastIndex((message, i) => message.role === 'user' && messages[i - 1]?.role !== 'user'),
  )
}

test('a call is never separated from its results', () => {
  fc.assert(
    fc.property(history, bounds, (messages, bound) => {
      const kept = view(messages, bound).messages
      kept.forEach((message, i) => {
        const calls = message.role === 'assistant' ? callsOf(message.parts).map((call) => call.callId) : []
        const next = kept[i + 1]
        if (calls.length > 0)
          expect(next?.role === 'tool' && next.parts.map((part) => part.callId)).toEqual(calls)
        if (message.role === 'tool') expect(kept[i - 1]?.role).toBe('assistant')
      })
    }),
  )
})

test('the first user message and the current turn are always there, its last step untouched', () => {
  fc.assert(
    fc.property(history, bounds, (messages, bound) => {
      const kept = view(messages, bound).messages
      expect(kept[0]).toEqual(messages[0])
      const [before, after] = [currentTurn(messages), currentTurn(kept)]
      // When everything else is dropped, the pinned message is right before the turn and seems to begin it.
      const shift = after.length - before.length
      expect(shift === 0 || (shift === 1 && after[0] === messages[0])).toBe(true)
      const same = after.slice(shift)
      expect(same.map((message) => message.role)).toEqual(before.map((message) => message.role))
      const lastStep = before.findLastIndex((message) => message.role === 'assistant')
      expect(same.slice(lastStep)).toEqual(before.slice(lastStep))
    }),
  )
})

test('the budget is kept whenever it can be', () => {
  fc.assert(
    fc.property(history, fc.integer({ min: 0, max: 20_000 }), (messages, budgetTokens) => {
      const size = (kept: Message[]) => kept.reduce((sum, message) => sum + charactersOf(message), 0)
      const least = size(view(messages, { budgetTokens: 0 }).messages)
      const { messages: kept, elided } = view(messages, { budgetTokens })
      expect(size(kept)).toBeLessThanOrEqual(Math.max(budgetTokens, least))
      const untouched = Object.values(elided).every((count) => count === 0)
      expect(untouched).toBe(
        kept.length === messages.length && kept.every((message, i) => message === messages[i]),
      )
    }),
  )
})
