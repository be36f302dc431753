import { Module } from '@nestjs/common';
import { ObjectClasses } from '../objects/object-classes.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { RolesController } from './roles.controller.js';
import { ROLE_QUERY_CLASS, RolesRepository } from './roles.repository.js';
import { RolesService } from './roles.service.js';

@Module({
  imports: [SessionsModule],
  controllers: [RolesController],
  providers: [RolesRepository, RolesService],
})
export class RolesModule {
  constructor(classes: ObjectClasses, objects: RolesRepository, roles: RolesService) {
    classes.register({
      className: '_Role',
      objects,
      queryClass: () => ROLE_QUERY_CLASS,
      prepareWrite: (caller, { id, objectId, fields, ...options }) =>
        objectId === undefined
          ? roles.prepareCreate(caller, fields, { id, returnNew: options.returnNew })
          : roles.prepareUpdate(caller, id, fields, options),
    });
  }
}
