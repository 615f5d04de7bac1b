/**
 * Scene path: whether a scene is an event or a device, by the contract's rule.
 *
 *   auto  both known: the event if its score reaches the minimum and exceeds the device's by 0.04, else the device
 */
export const SCENE_PATH_PREFERENCES = ['auto', 'event', 'device_fallback'] as const
export type ScenePathPreference = (typeof SCENE_PATH_PREFERENCES)[number]

/** Spec 4's `selection` metadata; the reasons are its words. */
export interface ScenePath {
  readonly selectedPath: 'event' | 'device_fallback'
  readonly reason:
    | 'prefer_path_event'
    | 'prefer_path_device_fallback'
    | 'auto_event_high_confidence'
    | 'auto_device_fallback'
    | 'auto_event_only_candidate'
    | 'auto_device_only_candidate'
  readonly topEventScore: number | null
  readonly topDeviceScore: number | null
}

/** How far an event's score must exceed the device's. */
const LEAD = 0.04

export function chooseScenePath(input: {
  readonly preferPath: ScenePathPreference
  readonly eventMinScore: number
  readonly topEventScore: number | undefined
  readonly topDeviceScore: number | undefined
}): ScenePath {
  const { preferPath, eventMinScore, topEventScore: event, topDeviceScore: device } = input
  const scores = { topEventScore: event ?? null, topDeviceScore: device ?? null }
  // Enforced: without an event the caller gets NOT_FOUND, not a device (spec 4, scene_activate).
  if (preferPath === 'event') return { selectedPath: 'event', reason: 'prefer_path_event', ...scores }
  if (preferPath === 'device_fallback')
    return { selectedPath: 'device_fallback', reason: 'prefer_path_device_fallback', ...scores }
  if (event === undefined) return { selectedPath: 'device_fallback', reason: 'auto_device_only_candidate', ...scores }
  if (device === undefined) return { selectedPath: 'event', reason: 'auto_event_only_candidate', ...scores }
  // A difference below 1e-9 is rounding.
  if (event >= eventMinScore && event >= device + LEAD - 1e-9)
    return { selectedPath: 'event', reason: 'auto_event_high_confidence', ...scores }
  return { selectedPath: 'device_fallback', reason: 'auto_device_fallback', ...scores }
}
