//! Struct, union, tagged union and enum specifiers.

use crate::checker::Checker;
use crate::codes;
use crate::scope::{Entity, GenericParam, GenericRecord, Tag};
use crate::specs::{Place, Role, Siblings};
use crate::types::*;
use source::{with_article, Span, Symbol};
use std::rc::Rc;
use syntax::ast;

/// A type argument that was not complete where it was written.
#[derive(Clone, Debug)]
pub(crate) struct OpenArgument {
    arg: Ty,
    param: TypeParam,
    span: Span,
}

/// So many owners in one value are followed each by itself. Structs in structs can have a number
/// that is exponential in the length of the program.
const MOST_OWNED: u64 = 1 << 12;

impl Checker<'_> {
    /// The type that a record specifier names or defines.
    pub(crate) fn record_spec(&mut self, spec: &ast::RecordSpec, place: Place) -> Ty {
        let kind = match spec.kind {
            ast::RecordKind::Struct => RecordKind::Struct,
            ast::RecordKind::Union => RecordKind::Union,
            ast::RecordKind::TaggedUnion => RecordKind::Tagged,
        };
        let regions: Vec<ast::Ident> = spec
            .args
            .iter()
            .filter_map(|a| match a {
                ast::GenericArg::Region(r) => Some(*r),
                _ => None,
            })
            .collect();
        let declares = spec.has_args && regions.len() == spec.args.len() && self.declares_tag(spec);
        if declares {
            let params = self.pending_generic.get_or_insert_with(Vec::new);
            params.extend(regions.iter().map(|r| GenericParam::Region(r.name)));
        } else if spec.has_args {
            if spec.fields.is_some() {
                self.error_help(
                    codes::GENERIC,
                    spec.span,
                    "only region parameters follow the name of a struct that is defined",
                    "type and ownership parameters stand in `generic <...>` in front of it",
                );
                return self.program.types.common.error;
            }
            return self.generic_instance(spec, place);
        }
        let omits = spec.fields.is_none() && !declares && self.pending_generic.is_none();
        if let Some(generic) = spec.tag.filter(|_| omits).and_then(|t| self.generic_tag(t.name)) {
            let only_regions = self
                .generic_records
                .get(generic as usize)
                .is_some_and(|g| g.params.iter().all(|p| matches!(p, GenericParam::Region(_))));
            if only_regions {
                return self.generic_instance(spec, place);
            }
        }
        let id = match self.find_record(spec, kind, place) {
            Some(id) => id,
            None => return self.program.types.common.error,
        };
        if spec.fields.is_some() {
            let depth = self.scopes.depth();
            self.scopes.push();
            let first = self.program.types.record(id).args.len().saturating_sub(regions.len());
            for (n, region) in regions.iter().enumerate() {
                if self.scopes.region(region.name).is_some() || matches!(region.name.as_str(), "heap" | "exchange") {
                    let message = format!("the region name `@{}` hides one that is in scope", region.name);
                    self.error_help(codes::REGION, region.span, message, "choose another name");
                }
                self.scopes.declare_region(region.name, Region::Param((first + n) as u32), region.span);
            }
            let outer = std::mem::take(&mut self.protos);
            let generic = self.program.types.instance_of.get(&id).copied();
            let params = generic.and_then(|g| self.generic_records.get(g as usize)).map(|g| g.params.clone());
            let around = params.map(|params| std::mem::replace(&mut self.record_params, params));
            self.define_record(id, spec, place);
            self.record_params = around.unwrap_or_else(|| std::mem::take(&mut self.record_params));
            self.protos = outer;
            self.scopes.hoist(depth);
        }
        self.types().intern(TyKind::Record(id))
    }

    /// Whether `struct tag<@r>` declares its tag: it has members, or the tag is not known.
    fn declares_tag(&self, spec: &ast::RecordSpec) -> bool {
        let known = spec.tag.is_some_and(|t| self.scopes.tag(t.name).is_some());
        spec.fields.is_some() || !known
    }

    /// `struct list<int>`, `struct tree<@r>`; what the regions lack is taken from the pointer
    /// around.
    fn generic_instance(&mut self, spec: &ast::RecordSpec, place: Place) -> Ty {
        let error = self.program.types.common.error;
        let Some(tag) = spec.tag else { return error };
        let Some(generic) = self.generic_tag(tag.name) else {
            self.error(codes::GENERIC, tag.span, format!("`{}` is not a generic type here", tag.name));
            return error;
        };
        let params = self.generic_records.get(generic as usize).map(|g| g.params.clone()).unwrap_or_default();
        let mut args = self.generic_arguments(&spec.args, place);
        let omitted = params.iter().skip(args.len()).filter(|p| matches!(p, GenericParam::Region(_))).count();
        if omitted > 1 && !matches!(place.role, Role::Local | Role::TypeName | Role::Typedef) {
            let message = format!("`{}` has several region parameters, which are not told here", tag.name);
            self.error_help(codes::GENERIC, spec.span, message, format!("write `struct {}<@a, @b>`", tag.name));
            return error;
        }
        while args.len() < params.len() && matches!(params.get(args.len()), Some(GenericParam::Region(_))) {
            args.push(self.types().intern(TyKind::RegionArg(Region::Var)));
        }
        self.instantiate_record(generic, args, spec.span)
    }

    /// What stands in `<...>`.
    pub(crate) fn generic_arguments(&mut self, written: &[ast::GenericArg], place: Place) -> Vec<Ty> {
        let mut args = vec![];
        for arg in written {
            let kind = match arg {
                ast::GenericArg::Type(t) => {
                    args.push(self.argument_type(t, place));
                    continue;
                }
                ast::GenericArg::Region(r) => TyKind::RegionArg(self.resolve_region(*r)),
                ast::GenericArg::Own(word) => TyKind::OwnArg(self.ownership(*word)),
            };
            args.push(self.types().intern(kind));
        }
        args
    }

    /// A type argument: its pointers are like those of fields, or, in a block, to be found out.
    pub(crate) fn argument_type(&mut self, name: &ast::TypeName, place: Place) -> Ty {
        let role = match place.role {
            Role::Local | Role::TypeName => Role::TypeName,
            _ => Role::Field,
        };
        let place = Place { role: Role::Field, foreign: false, trusted: false };
        let base = self.base_type(&name.specs, Place { role: Role::Typedef, ..place });
        let written = self.declare_type(base, &name.declarator, Place { role: Role::Typedef, ..place }).ty.ty;
        if self.missing_state(written, name.span) {
            return self.program.types.common.error;
        }
        self.settle(written, Place { role, ..place })
    }

    /// The instance of a generic record, its arguments checked.
    pub(crate) fn instantiate_record(&mut self, generic: u32, args: Vec<Ty>, span: Span) -> Ty {
        let error = self.program.types.common.error;
        let Some(record) = self.generic_records.get(generic as usize).cloned() else { return error };
        if record.params.len() != args.len() {
            let message = format!("{} type arguments are given, {} are needed", args.len(), record.params.len());
            self.error(codes::GENERIC, span, message);
            return error;
        }
        for (&arg, param) in args.iter().zip(&record.params) {
            if !self.check_argument_of_type(arg, param, span) {
                return error;
            }
        }
        let id = self.types().instance(generic, args);
        self.types().intern(TyKind::Record(id))
    }

    /// The same for an argument of a type: a struct that is still being defined, or is defined
    /// later, is looked at when it is complete.
    pub(crate) fn check_argument_of_type(&mut self, arg: Ty, param: &GenericParam, span: Span) -> bool {
        if let (GenericParam::Type(param), TyKind::Record(_)) = (param, self.kind(arg)) {
            if !self.program.types.is_complete(arg) && self.program.types.nesting(arg) <= 64 {
                let param = *param;
                if self.muted == 0 {
                    self.open_arguments.push(OpenArgument { arg, param, span });
                }
                return true;
            }
        }
        self.check_argument(arg, param, span)
    }

    /// Looks at the arguments that have become complete. At the end of the unit, those that have
    /// not must not have been needed.
    pub(crate) fn check_open_arguments(&mut self, end: bool) {
        let open = std::mem::take(&mut self.open_arguments);
        for argument in open {
            if self.program.types.is_complete(argument.arg) {
                self.check_type_argument(argument.arg, &argument.param, argument.span);
            } else if !end {
                self.open_arguments.push(argument);
            } else if argument.param.moves {
                // Who owns such values frees them, for which their type must be known.
                let text = self.show(argument.arg);
                self.error_help(
                    codes::GENERIC,
                    argument.span,
                    format!("`{text}` cannot stand for `{}`: it is never completed", argument.param.name),
                    "define it in this file",
                );
            }
        }
    }

    /// Whether `arg` may stand for the parameter, whatever kind it is.
    pub(crate) fn check_argument(&mut self, arg: Ty, param: &GenericParam, span: Span) -> bool {
        let fits = match (param, self.kind(arg)) {
            (_, TyKind::Error) => true,
            (GenericParam::Type(p), kind) if !matches!(kind, TyKind::RegionArg(_) | TyKind::OwnArg(_)) => {
                let p = *p;
                return self.check_type_argument(arg, &p, span);
            }
            (GenericParam::Own(_), TyKind::OwnArg(_)) | (GenericParam::Region(_), TyKind::RegionArg(_)) => true,
            _ => false,
        };
        if !fits {
            let what = match param {
                GenericParam::Type(_) => "a type",
                GenericParam::Own(_) => "an ownership word",
                GenericParam::Region(_) => "a region",
            };
            self.error(
                codes::GENERIC,
                span,
                format!("`{}` stands for {what}, and something else is given", param.name()),
            );
        }
        fits
    }

    /// Whether `arg` may stand for the type parameter.
    pub(crate) fn check_type_argument(&mut self, arg: Ty, param: &TypeParam, span: Span) -> bool {
        if self.is_error(arg) {
            return true;
        }
        if !self.program.types.is_complete(arg) || matches!(self.kind(arg), TyKind::Array { .. } | TyKind::VaList) {
            let text = self.show(arg);
            if self.program.types.as_record(arg).is_some() {
                self.error_help(
                    codes::GENERIC,
                    span,
                    format!("`{text}` cannot stand for `{}`: it is not complete here", param.name),
                    "define it before this, or hold a pointer to it",
                );
                return false;
            }
            self.error(
                codes::GENERIC,
                span,
                format!("`{text}` cannot stand for `{}`: it is not a type of values that can be copied", param.name),
            );
            return false;
        }
        if let TyKind::Record(id) = self.kind(arg) {
            if let Some((_, _, Some(_))) = self.program.types.flexible_member(*id) {
                let text = self.show(arg);
                self.error(
                    codes::GENERIC,
                    span,
                    format!(
                        "`{text}` cannot stand for `{}`: a struct with a counted flexible array is not copied",
                        param.name
                    ),
                );
                return false;
            }
        }
        if self.program.types.needs_init(arg) && !param.nonnull {
            let text = self.show(arg);
            self.error_help(
                codes::GENERIC,
                span,
                format!("`{text}` cannot stand for `{}`: it holds a nonnull pointer, so it must be initialised, and its zero is no value", param.name),
                format!("declare the parameter `{}: nonnull`, or use a nullable pointer here", param.name),
            );
            return false;
        }
        // The region of what is owned is found out later.
        let given = match self.program.types.as_pointer(arg) {
            Some(p) if matches!(p.region, Region::Infer(_)) && p.own.is_owned() && param.exchange => {
                self.types().pointer(Pointer { region: Region::Exchange, ..p })
            }
            _ => arg,
        };
        if param.exchange && !self.program.types.is_exchangeable(given) {
            let text = self.show(arg);
            self.error_help(
                codes::GENERIC,
                span,
                format!(
                    "`{text}` cannot stand for `{}`: it is not exchangeable, and values of it lie in the exchange heap",
                    param.name
                ),
                "give it a block, `T *@exchange`, an end of a channel, or plain data",
            );
            return false;
        }
        if param.frozen && !self.program.types.owns_frozen_only(given) {
            let text = self.show(arg);
            self.error_help(
                codes::GENERIC,
                span,
                format!("`{text}` cannot stand for `{}`: what is frozen owns nothing but frozen blocks", param.name),
                "freeze what it owns first, and hold that as `const U *rc @exchange`",
            );
            return false;
        }
        if self.program.types.owns(arg) && !param.moves {
            let text = self.show(arg);
            self.error_help(
                codes::GENERIC,
                span,
                format!("`{text}` cannot stand for `{}`: what is `unique`, `rc` or a key is not copied", param.name),
                format!("declare the parameter `{}: move`, or pass a shared pointer", param.name),
            );
            return false;
        }
        if self.program.types.nesting(arg) > 64 {
            self.error(codes::GENERIC, span, "generic types nest too deeply here");
            return false;
        }
        true
    }

    fn find_record(&mut self, spec: &ast::RecordSpec, kind: RecordKind, place: Place) -> Option<RecordId> {
        if let Some(&id) = self.local_records.get(&spec.span) {
            if let Some(tag) = spec.tag {
                self.scopes.declare_tag(tag.name, Tag::Record(id));
            }
            return Some(id);
        }
        if let Some(tag) = spec.tag {
            // After `generic <...>` the innermost level is that of the parameters, and the tag
            // belongs to the one around.
            let here = spec.fields.is_some() && (self.pending_generic.is_none() || self.type_params.is_empty());
            let found = if here { self.scopes.tag_here(tag.name) } else { self.scopes.tag(tag.name) };
            match found {
                Some(Tag::Record(id)) => {
                    if self.program.types.record(id).kind != kind {
                        let known = match self.program.types.record(id).kind {
                            RecordKind::Struct => "struct",
                            RecordKind::Union => "union",
                            RecordKind::Tagged => "tagged union",
                        };
                        self.error(
                            codes::CONFLICT,
                            tag.span,
                            format!(
                                "`{}` was declared as another kind of type: it is a `{known} {}`",
                                tag.name, tag.name
                            ),
                        );
                        return None;
                    }
                    return Some(id);
                }
                Some(Tag::Generic(g)) => return self.use_generic_tag(spec, tag, g),
                Some(Tag::Enum(_)) => {
                    self.error(codes::CONFLICT, tag.span, format!("`{}` was declared as an enumeration", tag.name));
                    return None;
                }
                None => {}
            }
        }
        let generic = self.pending_generic.take().filter(|_| spec.tag.is_some());
        let id = self.new_record(kind, spec, place);
        match (spec.tag, generic) {
            (Some(tag), Some(params)) => {
                let number = self.new_generic(id, params);
                // The tag outlives the level that holds the type parameters.
                if !self.type_params.is_empty() {
                    self.generic_tags.push((tag.name, number));
                }
                self.scopes.declare_tag(tag.name, Tag::Generic(number));
            }
            (tag, _) => {
                // A struct that is seen only inside of something generic has the parameters of
                // that.
                let around = if self.record_params.is_empty() { &self.type_params } else { &self.record_params };
                if !around.is_empty() && (tag.is_none() || self.f.is_some()) {
                    self.new_generic(id, around.clone());
                }
                if let Some(tag) = tag {
                    self.scopes.declare_tag(tag.name, Tag::Record(id));
                }
            }
        }
        if self.f.is_some() {
            self.local_records.insert(spec.span, id);
        }
        Some(id)
    }

    /// Makes a new record the instance of a new generic at its own parameters; the generic's
    /// number.
    fn new_generic(&mut self, id: RecordId, params: Vec<GenericParam>) -> u32 {
        let number = self.generic_records.len() as u32;
        let own = params.iter().enumerate().map(|(n, p)| match p {
            GenericParam::Type(p) => TyKind::Param(*p),
            GenericParam::Own(_) => TyKind::OwnArg(Own::Param(n as u32)),
            GenericParam::Region(_) => TyKind::RegionArg(Region::Param(n as u32)),
        });
        let types = &mut self.program.types;
        let args: Vec<Ty> = own.map(|kind| types.intern(kind)).collect();
        types.records[id.0 as usize].args = args.clone();
        types.generic_self.insert(number, id);
        types.instance_of.insert(id, number);
        types.instances.insert((number, args), id);
        self.generic_records.push(GenericRecord { params, this: id });
        number
    }

    /// A struct with a name of its own has no parameters of what it is defined in.
    fn refuse_parameters(&mut self, spec: &ast::RecordSpec, fields: &[Field]) {
        let Some(field) = fields.iter().find(|f| self.program.types.mentions_param(f.ty.ty)) else { return };
        let (span, tag) = (field.span, spec.tag.map_or(String::new(), |t| t.name.to_string()));
        self.error_help(
            codes::GENERIC,
            span,
            format!("`struct {tag}` mentions a parameter of what it is defined in, but can be named elsewhere"),
            format!("leave `{tag}` away, or define the struct by itself, with parameters of its own"),
        );
    }

    /// `struct list` without arguments where `list` is generic: its definition, or an error.
    fn use_generic_tag(&mut self, spec: &ast::RecordSpec, tag: ast::Ident, generic: u32) -> Option<RecordId> {
        let this = self.generic_records.get(generic as usize)?.this;
        if let Some(params) = self.pending_generic.take() {
            let defined = spec.fields.is_some() && self.program.types.record(this).fields.is_some();
            if !defined && params.len() != self.generic_records.get(generic as usize)?.params.len() {
                let message = format!("`{}` was declared with other type parameters", tag.name);
                self.error(codes::CONFLICT, tag.span, message);
                return None;
            }
            if !defined {
                return Some(this);
            }
            self.error(codes::CONFLICT, tag.span, format!("`{}` is defined twice", tag.name));
            return None;
        }
        self.error_help(
            codes::GENERIC,
            tag.span,
            format!("`{}` is generic: its type arguments are missing", tag.name),
            format!("write `struct {}<TYPE>`", tag.name),
        );
        None
    }

    /// A struct of the compiler's own, with members of these names and types.
    pub(crate) fn layout_record(&mut self, tag: &str, members: &[(Symbol, Ty, Span)], span: Span) -> RecordId {
        let field = |&(name, ty, span): &(Symbol, Ty, Span)| Field {
            name: Some(name),
            ty: Qty::plain(ty),
            width: None,
            align: None,
            packed: false,
            tagged_by: None,
            span,
        };
        let id = RecordId(self.program.types.records.len() as u32);
        self.program.types.records.push(Record {
            kind: RecordKind::Struct,
            tag: Some(Symbol::new(tag)),
            args: vec![],
            fields: Some(Rc::new(members.iter().map(field).collect())),
            packed: false,
            align: None,
            vector: false,
            underaligned: false,
            foreign: false,
            exists: vec![],
            span,
        });
        self.types().intern(TyKind::Record(id));
        id
    }

    fn new_record(&mut self, kind: RecordKind, spec: &ast::RecordSpec, place: Place) -> RecordId {
        let id = RecordId(self.program.types.records.len() as u32);
        self.program.types.records.push(Record {
            kind,
            tag: spec.tag.map(|t| t.name),
            args: vec![],
            fields: None,
            packed: false,
            align: None,
            vector: false,
            underaligned: false,
            foreign: place.foreign,
            exists: vec![],
            span: spec.span,
        });
        id
    }

    fn define_record(&mut self, id: RecordId, spec: &ast::RecordSpec, place: Place) {
        let Some(items) = &spec.fields else { return };
        let again = self.program.types.record(id).fields.is_some();
        if again && !(self.local_records.contains_key(&spec.span) && self.muted == 0) {
            // An inference round, or the same text again (C23 allows equal redefinitions).
            if !self.local_records.contains_key(&spec.span) && spec.tag.is_some() && !place.foreign {
                let name = spec.tag.map_or(String::new(), |t| t.name.to_string());
                self.error(codes::CONFLICT, spec.span, format!("`{name}` is defined twice"));
            }
            return;
        }
        let pending = self.pending_generic.take();
        let names = field_names(items);
        let outer = self.siblings.replace(Siblings::Fields(names));
        let inline = place.role == Role::Field;
        let place = Place { role: Role::Field, trusted: false, ..place };
        let mut fields = vec![];
        let mut exists: Vec<Option<Region>> = vec![];
        for item in items {
            match item {
                ast::FieldItem::Fields(decl) => self.field_decl(decl, place, &mut fields),
                ast::FieldItem::StaticAssert(assert) => self.static_assert(assert),
                ast::FieldItem::Exists { name, by } => {
                    if self.scopes.region(name.name).is_some() || matches!(name.name.as_str(), "heap" | "exchange") {
                        let message = format!("the region name `@{}` hides one that is in scope", name.name);
                        self.error_help(codes::REGION, name.span, message, "choose another name");
                    }
                    let bound = by.and_then(|by| self.hidden_bound(by));
                    self.scopes.declare_region(name.name, Region::Exists(exists.len() as u32), name.span);
                    exists.push(bound);
                }
            }
        }
        self.siblings = outer;
        self.pending_generic = pending;
        self.check_fields(spec, &mut fields);
        if !self.program.types.instance_of.contains_key(&id) {
            self.refuse_parameters(spec, &fields);
        }
        self.check_owned_fields(spec, &fields, place, inline);
        if again {
            // The rounds made it; this walk was for the reports.
            return;
        }
        if fields.is_empty() && !place.foreign {
            self.error(codes::DECLARATION, spec.span, "a struct or union has at least one member");
        }
        self.refuse_attributes(&spec.attrs);
        let limit = pack_limit(&spec.attrs);
        let packed = is_packed(&spec.attrs) || limit == Some(1);
        self.limit_alignment(&mut fields, limit.filter(|_| !packed), spec.span);
        let align = self.alignment(&[], &spec.attrs);
        let record = &mut self.program.types.records[id.0 as usize];
        record.packed = packed;
        if spec.attrs.iter().any(|a| a.name.as_str() == "transparent_union") {
            self.transparent.insert(id);
        }
        let record = &mut self.program.types.records[id.0 as usize];
        record.align = align;
        record.foreign = place.foreign;
        record.exists = exists;
        if fields.iter().any(|field| self.program.types.is_counted(field.ty.ty)) {
            self.counted_fields.extend(fields.iter().filter_map(|field| field.name));
        }
        let record = &mut self.program.types.records[id.0 as usize];
        record.fields = Some(Rc::new(fields));
        if let Some(&generic) = self.program.types.instance_of.get(&id) {
            self.types().complete_instances(generic);
        } else {
            self.check_size(id, spec.span);
        }
        self.check_open_arguments(false);
    }

    /// The region after `outlived by`: as long as it is live, the hidden one is.
    fn hidden_bound(&mut self, by: ast::Ident) -> Option<Region> {
        match self.resolve_region(by) {
            region @ (Region::Param(_) | Region::Heap | Region::Exists(_)) => Some(region),
            _ => {
                self.error_help(
                    codes::REGION,
                    by.span,
                    format!("nothing hidden is `outlived by @{}`", by.name),
                    "name a region parameter of the struct, an `exists` before it, or `@heap`",
                );
                None
            }
        }
    }

    /// A record is no larger than memory can be.
    fn check_size(&mut self, id: RecordId, span: Span) {
        let fields = self.program.types.record(id).fields.clone().unwrap_or_default();
        if fields.iter().any(|f| self.program.types.layout(f.ty.ty).is_none()) {
            return;
        }
        let fits = self.program.types.record_layout(id).is_some_and(|(l, _)| l.size <= i64::MAX as u64 / 2);
        if !fits {
            self.error(codes::DECLARATION, span, "this struct is larger than memory can be");
        }
        let parts = fields.iter().fold(0u64, |sum, f| sum.saturating_add(self.owned_parts(f.ty.ty)));
        let followed = parts <= MOST_OWNED;
        if !followed && !self.options.plain_c {
            self.error_help(
                codes::DECLARATION,
                span,
                format!("this struct has {parts} parts that own something, and no more than {MOST_OWNED} are followed"),
                "keep some of its parts behind owned pointers",
            );
        }
        self.owned_in.insert(id, if followed { parts } else { 1 });
    }

    /// How many parts of a value own something. The elements of an array count once.
    fn owned_parts(&self, ty: Ty) -> u64 {
        match self.kind(ty) {
            _ if !self.program.types.owns(ty) => 0,
            TyKind::Array { elem, .. } => self.owned_parts(elem.ty),
            TyKind::Record(id) => self.owned_in.get(id).copied().unwrap_or(1),
            _ => 1,
        }
    }

    fn field_decl(&mut self, decl: &ast::FieldDecl, place: Place, fields: &mut Vec<Field>) {
        let base = self.base_type(&decl.specs, place);
        let align = self.alignment(&decl.specs.alignas, &decl.specs.attrs);
        if decl.fields.is_empty() {
            let unnamed = matches!(&decl.specs.ty, ast::TypeSpec::Record(spec) if spec.tag.is_none());
            if unnamed {
                let packed = is_packed(&decl.specs.attrs);
                let span = decl.span;
                fields.push(Field { name: None, ty: base, width: None, align, packed, tagged_by: None, span });
            } else if !matches!(decl.specs.ty, ast::TypeSpec::Enum(_)) && !self.is_error(base.ty) && !place.foreign {
                self.error_help(
                    codes::DECLARATION,
                    decl.span,
                    "this declares no member",
                    "name the member; only a struct or union without a tag is a member without a name",
                );
            }
            return;
        }
        for field in &decl.fields {
            let declared = self.declare_type(base, &field.declarator, place);
            let mut ty = declared.ty;
            let span = field.declarator.name.map_or(field.declarator.span, |n| n.span);
            let flexible = matches!(self.kind(ty.ty), TyKind::Array { len: ArrayLen::Flexible(_), .. });
            if !flexible && !self.program.types.is_complete(ty.ty) && !self.is_error(ty.ty) {
                let text = self.show(ty.ty);
                let message = match self.program.types.open_part(ty.ty).filter(|&part| part != ty.ty) {
                    Some(part) => {
                        let part = self.show(part);
                        format!("`{text}` holds a `{part}`, which is not complete here: a struct cannot hold itself")
                    }
                    None => format!("a field cannot have the incomplete type `{text}`"),
                };
                self.error_help(codes::INCOMPLETE, span, message, "a pointer to it can be a field");
                ty = Qty::plain(self.program.types.common.error);
            }
            if self.missing_state(ty.ty, span) {
                ty = Qty::plain(self.program.types.common.error);
            }
            let named = field.declarator.name.is_some();
            let width = field.width.as_ref().and_then(|w| self.bit_width(w, ty.ty, named));
            self.refuse_attributes(&decl.specs.attrs);
            self.refuse_attributes(&field.declarator.attrs);
            let own = self.alignment(&[], &field.declarator.attrs);
            let named = self.typedef_alignment(&decl.specs, &field.declarator);
            let aligned = align.max(own).max(named);
            if aligned.is_some() && width.is_some() {
                self.error(
                    codes::LATER,
                    span,
                    "a bit-field with an alignment of its own, or of its type, is not built",
                );
            }
            let tagged_by = field.tagged_by.as_ref().and_then(|t| self.tagged_by(t, ty.ty));
            fields.push(Field {
                name: field.declarator.name.map(|n| n.name),
                ty,
                width,
                align: aligned,
                packed: is_packed(&field.declarator.attrs),
                tagged_by,
                span,
            });
        }
    }

    /// Under `#pragma pack(n)` no field is aligned to more than `n`.
    fn limit_alignment(&mut self, fields: &mut [Field], limit: Option<u64>, span: Span) {
        let Some(limit) = limit else { return };
        for field in fields {
            let natural = self.program.types.layout(field.ty.ty).map_or(1, |l| l.align);
            if natural <= limit || field.align.is_some() {
                continue;
            }
            if field.width.is_some() {
                let message = format!("bit-fields under `#pragma pack({limit})` are not built");
                return self.error(codes::LATER, span, message);
            }
            // Emitted C writes the type of such a member in place, so attributes of the member would be
            // its type's.
            if field.name.is_none() {
                let message = format!(
                    "a member without a name is not built where `#pragma pack({limit})` says less than its type"
                );
                return self.error(codes::LATER, span, message);
            }
            field.packed = true;
            field.align = Some(limit);
        }
    }

    fn bit_width(&mut self, width: &ast::Expr, ty: Ty, named: bool) -> Option<u32> {
        let n = self.constant_int(width)?;
        let Some(kind) = self.program.types.as_int(ty) else {
            if !self.is_error(ty) {
                self.error(codes::DECLARATION, width.span, "a bit-field has an integer type");
            }
            return None;
        };
        let max = if matches!(self.kind(ty), TyKind::Bool) { 1 } else { kind.size() as i128 * 8 };
        if n < 0 || n > max {
            self.error(codes::DECLARATION, width.span, format!("a bit-field of this type has at most {max} bits"));
            return None;
        }
        if n == 0 && named {
            self.error_help(
                codes::DECLARATION,
                width.span,
                "a bit-field of no bits has no name: it ends the unit that the bit-fields before it share",
                "leave the name out, or give it bits",
            );
            return None;
        }
        Some(n as u32)
    }

    fn tagged_by(&mut self, spec: &ast::TaggedBy, ty: Ty) -> Option<Rc<TaggedBy>> {
        let tag = match &self.siblings {
            Some(Siblings::Fields(names)) => names.iter().position(|n| *n == Some(spec.tag.name)),
            _ => None,
        };
        let Some(tag) = tag else {
            self.error(codes::TAGGED, spec.tag.span, format!("`{}` is not a sibling field", spec.tag.name));
            return None;
        };
        let Some(record) = self.program.types.as_record(ty) else {
            self.error(codes::TAGGED, spec.span, "only a union can be `tagged_by` a field");
            return None;
        };
        let members = self.program.types.record(record).fields.clone().unwrap_or_default();
        if members.iter().any(|m| self.program.types.needs_init(m.ty.ty)) {
            self.error(
                codes::TAGGED,
                spec.span,
                "a union that is `tagged_by` a field is cleared when the field changes: no member is nonnull",
            );
        }
        let mut arms: Vec<(i128, u32)> = vec![];
        for (value, member) in &spec.arms {
            let value_span = value.span;
            let Some(value) = self.constant_int(value) else { continue };
            let Some(n) = self.own_field(record, member.name) else {
                self.error(codes::MEMBER, member.span, format!("the union has no member `{}`", member.name));
                continue;
            };
            if arms.iter().any(|&(v, _)| v == value) {
                self.error(codes::TAGGED, value_span, format!("the tag value {value} is bound twice"));
                continue;
            }
            arms.push((value, n));
        }
        Some(Rc::new(TaggedBy { tag: tag as u32, arms }))
    }

    /// The number of a field that is declared in the record itself.
    pub(crate) fn own_field(&self, record: RecordId, name: Symbol) -> Option<u32> {
        let fields = self.program.types.record(record).fields.as_ref()?;
        fields.iter().position(|f| f.name == Some(name)).map(|p| p as u32)
    }

    /// A tag has each value that selects a member: one that it cannot have would be cut to another
    /// member's.
    fn check_tag_values(&mut self, fields: &[Field]) {
        for field in fields {
            let Some(binding) = &field.tagged_by else { continue };
            let Some(tag) = fields.get(binding.tag as usize) else { continue };
            let Some(kind) = self.program.types.as_int(tag.ty.ty) else { continue };
            let (kind, is_bool) = (kind, matches!(self.kind(tag.ty.ty), TyKind::Bool));
            let bits = tag.width.unwrap_or(if is_bool { 1 } else { kind.size() as u32 * 8 });
            let name = tag.name.map_or("", |name| name.as_str());
            let wrong = binding.arms.iter().find(|(value, _)| !kind.fits(*value, bits, is_bool));
            if let Some((value, _)) = wrong {
                let message =
                    format!("the tag value {value} does not fit `{name}`, whose type is `{}`", self.show(tag.ty.ty));
                self.error_help(
                    codes::TAGGED,
                    field.span,
                    message,
                    "give the tag a larger type, or the member another value",
                );
            }
        }
    }

    fn check_fields(&mut self, spec: &ast::RecordSpec, fields: &mut [Field]) {
        self.check_tag_values(fields);
        let bound = fields.iter().find(|field| field.tagged_by.is_some());
        if let Some(field) = bound.filter(|_| spec.kind != ast::RecordKind::Struct) {
            self.error_help(
                codes::TAGGED,
                field.span,
                "a union is `tagged_by` a field of a struct: in a union the tag would lie in the same bytes",
                "put the tag and the union into a struct",
            );
        }
        let mut seen: Vec<Symbol> = vec![];
        let last = fields.len().saturating_sub(1);
        for (at, field) in fields.iter_mut().enumerate() {
            if let Some(name) = field.name {
                if seen.contains(&name) {
                    self.error(codes::CONFLICT, field.span, format!("the field `{name}` is declared twice"));
                }
                seen.push(name);
            }
            if let TyKind::Array { elem, len: ArrayLen::Flexible(count), terminated } = *self.kind(field.ty.ty) {
                if terminated {
                    self.error_help(
                        codes::COUNT,
                        field.span,
                        "no zero stands after the elements of a flexible array: it is not `null_terminated`",
                        "write `counted_by(n)`; where a string is wanted, a zero is looked for among the `n` elements",
                    );
                    let plain = TyKind::Array { elem, len: ArrayLen::Flexible(count), terminated: false };
                    field.ty.ty = self.types().intern(plain);
                }
                if at != last || spec.kind != ast::RecordKind::Struct || at == 0 {
                    let zero = self.types().intern(TyKind::Array { elem, len: ArrayLen::Const(0), terminated });
                    if count.is_some() || at != last {
                        self.error(
                            codes::DECLARATION,
                            field.span,
                            "a flexible array is the last of several members of a struct",
                        );
                    }
                    field.ty.ty = zero;
                }
            } else if let TyKind::Record(inner) = *self.kind(field.ty.ty) {
                if let Some((_, _, Some(_))) = self.program.types.flexible_member(inner) {
                    self.error(
                        codes::COUNT,
                        field.span,
                        "a struct with a counted flexible array is not nested: keep a pointer to it",
                    );
                }
            }
            if spec.kind == ast::RecordKind::TaggedUnion && (field.name.is_none() || field.width.is_some()) {
                self.error(codes::TAGGED, field.span, "a member of a tagged union has a name and is no bit-field");
            }
        }
        self.check_counts(fields, spec.kind);
    }

    /// Of a union that owns something, something tells which member is there; fields mention
    /// regions of the struct only.
    fn check_owned_fields(&mut self, spec: &ast::RecordSpec, fields: &[Field], place: Place, inline: bool) {
        if place.foreign {
            return;
        }
        for field in fields {
            let guarded = inline && spec.tag.is_none();
            if spec.kind == ast::RecordKind::Union && !guarded && self.program.types.owns(field.ty.ty) {
                let text = self.show(field.ty.ty);
                self.error_help(
                    codes::OWNERSHIP,
                    field.span,
                    format!("a member of an untagged union owns nothing, and {} does: which member would be freed?", with_article(&text)),
                    "make it a `tagged union`, or write it inside of the struct whose field tells: `union { ... } u tagged_by(kind) { ... };`",
                );
            }
            if spec.kind != ast::RecordKind::Union && field.tagged_by.is_none() && self.is_owning_union(field.ty.ty) {
                self.error_help(
                    codes::OWNERSHIP,
                    field.span,
                    "a member of this union owns something, and nothing tells which member is there: which would be freed?",
                    "bind the union to the field that tells: `tagged_by(kind) { VALUE: member }`, or make it a `tagged union`",
                );
            }
            let outside = |r: Region| matches!(r, Region::Body(_) | Region::Infer(_) | Region::Bound(..));
            if self.mentions_outside(field.ty.ty, &outside) {
                self.error_help(
                    codes::REGION,
                    field.span,
                    "a field mentions a region of the function around the struct, which the struct's type does not tell",
                    "give the struct a region parameter: `struct tag<@r> { ... }`",
                );
            }
        }
    }

    /// Whether a type is an untagged union that owns something, or an array of such.
    fn is_owning_union(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Array { elem, .. } => self.is_owning_union(elem.ty),
            TyKind::Record(id) => {
                self.program.types.record(*id).kind == RecordKind::Union && self.program.types.owns(ty)
            }
            _ => false,
        }
    }

    /// Whether a type outside function types mentions a region for which `f` holds.
    fn mentions_outside(&self, ty: Ty, f: &dyn Fn(Region) -> bool) -> bool {
        match self.kind(ty) {
            TyKind::Ptr(p) => f(p.region) || self.mentions_outside(p.target.ty, f),
            TyKind::Array { elem, .. } => self.mentions_outside(elem.ty, f),
            TyKind::Func(func) => {
                let body = |r: Region| matches!(r, Region::Body(_) | Region::Infer(_));
                self.program.types.mentions_region(func.ret, &body)
                    || func.params.iter().any(|p| self.program.types.mentions_region(p.ty, &body))
            }
            TyKind::Record(id) => self.program.types.record(*id).args.iter().any(|&a| self.mentions_outside(a, f)),
            TyKind::Key(_, r) | TyKind::Handle(_, r) | TyKind::RegionArg(r) => f(*r),
            _ => false,
        }
    }

    /// Reports a static or global whose type mentions a region that ends before it does.
    pub(crate) fn check_static_regions(&mut self, ty: Ty, span: Span) {
        self.check_no_exchange(ty, span, "a global or static");
        if self.mentions_outside(ty, &|r| matches!(r, Region::Body(_) | Region::Infer(_))) {
            self.error_help(
                codes::REGION,
                span,
                "a static outlives every region of the function: its type mentions `@heap` and `@exchange` only",
                "make it a local, or leave the region out",
            );
        }
    }

    /// Fields that counts mention are integers of a struct: what else lies in the bytes of a union is
    /// no count.
    fn check_counts(&mut self, fields: &[Field], kind: ast::RecordKind) {
        for field in fields {
            let count = match *self.kind(field.ty.ty) {
                TyKind::Ptr(Pointer { bounds: Bounds::Counted(id), .. }) => Some(id),
                TyKind::Array { len: ArrayLen::Flexible(count), .. } => count,
                _ => None,
            };
            let Some(count) = count else { continue };
            if kind != ast::RecordKind::Struct && !self.options.plain_c {
                self.error_help(
                    codes::COUNT,
                    field.span,
                    "a member of a union has no count: the members lie in the same bytes",
                    "put pointer and count into a struct that is the member",
                );
            }
            for n in self.count_fields(count) {
                let Some(counter) = fields.get(n as usize) else { continue };
                if !matches!(self.kind(counter.ty.ty), TyKind::Int(_) | TyKind::Enum(_) | TyKind::Error) {
                    self.error(codes::COUNT, field.span, "a count is an integer field");
                }
            }
        }
    }

    /// The fields that a count expression mentions.
    pub(crate) fn count_fields(&self, id: CountId) -> Vec<u32> {
        self.count_siblings(id, &|e| if let CountExpr::Field(n) = e { Some(*n) } else { None })
    }

    /// The parameters that a count expression mentions.
    pub(crate) fn count_params(&self, id: CountId) -> Vec<u32> {
        self.count_siblings(id, &|e| if let CountExpr::Param(n) = e { Some(*n) } else { None })
    }

    fn count_siblings(&self, id: CountId, of: &dyn Fn(&CountExpr) -> Option<u32>) -> Vec<u32> {
        match self.program.types.count_expr(id) {
            CountExpr::Add(a, b) | CountExpr::Sub(a, b) | CountExpr::Mul(a, b) => {
                let mut all = self.count_siblings(*a, of);
                all.extend(self.count_siblings(*b, of));
                all
            }
            CountExpr::Div(a, _) => self.count_siblings(*a, of),
            e => of(e).into_iter().collect(),
        }
    }

    /// The type that an enum specifier names or defines.
    pub(crate) fn enum_spec(&mut self, spec: &ast::EnumSpec, place: Place) -> Ty {
        let _ = place;
        if let Some(&id) = self.local_enums.get(&spec.span) {
            self.redeclare_enum(spec, id);
            return self.types().intern(TyKind::Enum(id));
        }
        let found = spec.tag.and_then(|t| {
            if spec.items.is_some() {
                self.scopes.tag_here(t.name)
            } else {
                self.scopes.tag(t.name)
            }
        });
        let id = match found {
            Some(Tag::Enum(id)) => id,
            Some(_) => {
                let span = spec.tag.map_or(spec.span, |t| t.span);
                self.error(codes::CONFLICT, span, "this tag was declared as another kind of type");
                return self.program.types.common.error;
            }
            None => {
                let id = EnumId(self.program.types.enums.len() as u32);
                self.program.types.enums.push(Enum {
                    tag: spec.tag.map(|t| t.name),
                    underlying: IntKind::UInt,
                    items: vec![],
                    attrs: vec![],
                    complete: false,
                    span: spec.span,
                });
                if let Some(tag) = spec.tag {
                    self.scopes.declare_tag(tag.name, Tag::Enum(id));
                }
                if self.f.is_some() {
                    self.local_enums.insert(spec.span, id);
                }
                id
            }
        };
        if let Some(underlying) = &spec.underlying {
            let ty = self.type_name(underlying);
            match self.program.types.as_int(ty.ty) {
                Some(kind) => {
                    self.program.types.enums[id.0 as usize].underlying = kind;
                    self.program.types.enums[id.0 as usize].complete = true;
                }
                None => {
                    self.error(codes::DECLARATION, underlying.span, "the type of an enumeration is an integer type")
                }
            }
        }
        if let Some(items) = &spec.items {
            self.define_enum(id, items, spec);
        }
        self.types().intern(TyKind::Enum(id))
    }

    fn redeclare_enum(&mut self, spec: &ast::EnumSpec, id: EnumId) {
        if let Some(tag) = spec.tag {
            self.scopes.declare_tag(tag.name, Tag::Enum(id));
        }
        let int = self.program.types.common.int;
        let ty = self.enum_constant_type(id, int);
        for ((name, value), item) in
            self.program.types.enumeration(id).items.clone().into_iter().zip(spec.items.iter().flatten())
        {
            self.scopes.declare(name, Entity::Constant(value, ty), item.name.span);
        }
    }

    /// The type of enumerators: `int` if all fit, else the underlying type.
    fn enum_constant_type(&mut self, id: EnumId, int: Ty) -> Ty {
        let e = self.program.types.enumeration(id);
        let fits = e.items.iter().all(|&(_, v)| v == IntKind::Int.wrap(v));
        let underlying = e.underlying;
        if fits {
            int
        } else {
            self.types().int(underlying)
        }
    }

    fn define_enum(&mut self, id: EnumId, items: &[ast::Enumerator], spec: &ast::EnumSpec) {
        let common = self.program.types.common;
        let fixed = spec.underlying.is_some();
        let mut next: i128 = 0;
        let mut values = vec![];
        for ast::Enumerator { name, value, .. } in items {
            if let Some(e) = value {
                next = self.constant_int(e).unwrap_or(next);
            }
            values.push((name.name, next));
            let ty = if next == IntKind::Int.wrap(next) { common.int } else { common.long };
            self.declare_constant(*name, next, ty);
            next = next.wrapping_add(1);
        }
        let (low, high) = values.iter().fold((0, 0), |(l, h), &(_, v)| (v.min(l), v.max(h)));
        let candidates = [IntKind::UInt, IntKind::Int, IntKind::ULong, IntKind::Long];
        let packed = is_packed(&spec.attrs);
        let small = [IntKind::UChar, IntKind::SChar, IntKind::UShort, IntKind::Short];
        let kind = small
            .into_iter()
            .filter(|_| packed)
            .chain(candidates)
            .find(|k| k.wrap(low) == low && k.wrap(high) == high)
            .unwrap_or(IntKind::Long);
        let e = &mut self.program.types.enums[id.0 as usize];
        e.items = values.clone();
        e.attrs = items
            .iter()
            .filter(|item| !item.attrs.is_empty())
            .map(|item| (item.name.name, crate::decls::attribute_texts(&item.attrs, &[], true)))
            .collect();
        e.complete = true;
        if !fixed {
            e.underlying = kind;
        }
        let ty = self.enum_constant_type(id, common.int);
        for ((name, value), item) in values.into_iter().zip(items) {
            self.scopes.declare(name, Entity::Constant(value, ty), item.name.span);
        }
    }

    fn declare_constant(&mut self, name: ast::Ident, value: i128, ty: Ty) {
        if let Some((Entity::Constant(old, _), _)) = self.scopes.lookup_here(name.name) {
            if *old == value {
                return;
            }
        }
        if self.scopes.lookup_here(name.name).is_some() {
            self.error(codes::CONFLICT, name.span, format!("`{}` is already declared in this scope", name.name));
        }
        self.scopes.declare(name.name, Entity::Constant(value, ty), name.span);
    }
}

/// `#pragma pack(n)`
fn pack_limit(attrs: &[ast::Attribute]) -> Option<u64> {
    let attr = attrs.iter().find(|a| a.name.as_str() == "pack")?;
    match &attr.args.first()?.kind {
        ast::ExprKind::Int(lit) => u64::try_from(lit.value).ok(),
        _ => None,
    }
}

fn is_packed(attrs: &[ast::Attribute]) -> bool {
    attrs.iter().any(|a| a.name.as_str() == "packed")
}

/// The names of a record's fields by number, as the fields will be numbered.
fn field_names(items: &[ast::FieldItem]) -> Vec<Option<Symbol>> {
    let mut names = vec![];
    for item in items {
        if let ast::FieldItem::Fields(decl) = item {
            if decl.fields.is_empty() {
                names.push(None);
            }
            names.extend(decl.fields.iter().map(|f| f.declarator.name.map(|n| n.name)));
        }
    }
    names
}
