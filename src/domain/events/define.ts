/** How a kind of event is declared: its name, the shape of its data, and which logs it is written to. */

/** Where events of a kind are written. Every event is also part of its project's feed. */
export interface EventTraits {
  /** It may be written to the log of a generation. Without a generation it is written to the project's feed alone. */
  inGeneration: boolean
  /** A generation that has a root copies it into the root's log. The feed leaves copies out. */
  copiedToRoot: boolean
  /** It tells of what a principal requested, a generation, call or approval, or of its file, and says whose that is. */
  ofRequester: boolean
}

export const projectOnly = { inGeneration: false, copiedToRoot: false, ofRequester: false } as const
export const ofRequester = { inGeneration: false, copiedToRoot: false, ofRequester: true } as const
export const inGeneration = { inGeneration: true, copiedToRoot: false, ofRequester: true } as const
export const copiedToRoot = { inGeneration: true, copiedToRoot: true, ofRequester: true } as const

/** A kind of event. Called with its data it makes an event, which is not written by that. */
export interface EventKind<Type extends string, Data, Traits extends EventTraits = EventTraits> {
  (data: Data): { type: Type; data: Data }
  readonly type: Type
  readonly traits: Traits
}

/** Declares kinds out of a map from their names to their data. */
export function kindsOf<Events>() {
  return <Type extends keyof Events & string, Traits extends EventTraits>(
    type: Type,
    traits: Traits,
  ): EventKind<Type, Events[Type], Traits> =>
    Object.assign((data: Events[Type]) => ({ type, data }), { type, traits })
}
