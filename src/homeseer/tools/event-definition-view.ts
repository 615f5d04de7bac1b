/**
 * Event definition view: triggers and actions of an event as the tools show them.
 */
import { omitUndefined, type JsonObject } from '../../core/json.ts'
import type { EventActionBlock } from '../catalog/event-definition.ts'
import type { EventTrigger } from '../catalog/event-trigger.ts'

/** The members of spec 4's "normalized triggers", `null` where this kind of trigger has none. */
export function toTriggerJson(trigger: EventTrigger): JsonObject {
  return {
    index: trigger.index,
    type: trigger.type,
    deviceRef: trigger.deviceRef ?? null,
    triggerSubType: trigger.triggerSubType ?? null,
    operationSelected: trigger.operationSelected ?? null,
    anyDevice: trigger.anyDevice ?? null,
    anyValue: trigger.anyValue ?? null,
    condition: trigger.condition ?? null,
    valueStart: trigger.valueStart ?? null,
    valueEnd: trigger.valueEnd ?? null,
  }
}

export function toActionBlockJson({ conditions, actions }: EventActionBlock): JsonObject {
  return {
    conditions: [...conditions],
    conditionCount: conditions.length,
    actions: actions.map((action) => ({
      actionKey: action.actionKey,
      type: action.type,
      delay: action.delay ?? null,
      deviceActions: action.deviceActions.map(({ deviceKey, ref, controlLabel, controlValue }) => ({
        deviceKey,
        // HomeSeer's own name for it, which the contract keeps.
        dvRef: ref ?? null,
        controlLabel: controlLabel ?? null,
        controlValue: controlValue ?? null,
      })),
      ...omitUndefined({ script: action.script, method: action.method, params: action.params }),
    })),
  }
}
